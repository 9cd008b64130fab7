#include "protocol/access/api_guard.hpp"

#include "protocol/access/listen_address.hpp"
#include "state/model/unchanged_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

/// A second, of each client.
constexpr std::int64_t recorded_refusals = 5;
/// What each request may bring in on the average, and what one client may in any case have recorded
/// a second; and for how long that may be saved up.
constexpr std::int64_t recorded_bytes_of_a_request = 1024;
constexpr std::int64_t least_recorded_bytes = 1 << 20;
constexpr std::chrono::seconds recorded_bytes_saved_up{16};

/// None where there may be as many requests as come.
std::int64_t recorded_bytes_per_second(const api_limits& limits) {
  if (limits.requests_per_second <= 0)
    return 0;
  return std::max(least_recorded_bytes, limits.requests_per_second * recorded_bytes_of_a_request);
}

bool changes_objects(api_call what) {
  return what == api_call::apply || what == api_call::remove;
}

time_point time_of_day() {
  return std::chrono::time_point_cast<duration>(std::chrono::system_clock::now());
}

void set_caller(open_call& call, caller who) {
  call.who = std::move(who);
  call.record.who = call.who.name;
  call.record.role = to_string(call.who.role);
}

} // namespace

absl::StatusOr<std::unique_ptr<api_guard>> api_guard::make(const api_settings& settings) {
  auto guard = std::unique_ptr<api_guard>(new api_guard(settings));
  if (!settings.callers.empty()) {
    const auto changed = [raw = guard.get()] {
      const auto loaded = raw->load_callers();
      if (loaded.ok())
        raw->withdraw_streams(fmt::format("{} has changed: ", raw->settings_.callers));
      raw->settings_.say(
        loaded.ok()
          ? fmt::format("{} has changed and is in use", raw->settings_.callers)
          : fmt::format("{}; the callers from before stay", std::string(loaded.message())));
    };
    guard->watch_.add({settings.callers}, changed,
                      [raw = guard.get()] { raw->look_at_the_time(); });
    if (auto loaded = guard->load_callers(); !loaded.ok())
      return loaded;
  }
  if (!settings.audit.empty()) {
    auto opened = audit_log::open(settings.audit);
    if (!opened.ok())
      return opened.status();
    guard->audit_ = *std::move(opened);
  }
  return guard;
}

api_guard::api_guard(const api_settings& settings)
    : settings_(settings), requests_(settings.limits.requests_per_second),
      refusals_(recorded_refusals),
      recorded_bytes_(recorded_bytes_per_second(settings.limits), recorded_bytes_saved_up),
      calls_at_once_({"calls under way", "wait for one of them", "--calls", settings.limits.calls,
                      settings.limits.calls_per_client}),
      streams_({"streams open", "end one first", "--streams", settings.limits.streams,
                settings.limits.streams_per_client}),
      unread_({"bytes of answers that nobody has taken", "take what has come first",
               "--unread-bytes", settings.limits.unread_bytes,
               settings.limits.unread_bytes_per_client}),
      run_id_(fmt::format("{:x}", time_of_day().time_since_epoch().count())) {}

absl::Status api_guard::load_callers() {
  const auto text = read_small_file(settings_.callers);
  if (!text.ok())
    return text.status();
  auto parsed = caller_file::parse(*text);
  if (!parsed.ok())
    return absl::InvalidArgumentError(
      fmt::format("{} {}", settings_.callers, std::string(parsed.status().message())));
  auto fresh = std::make_shared<const caller_file>(*std::move(parsed));
  const std::lock_guard lock(mutex_);
  callers_ = std::move(fresh);
  ++callers_version_;
  next_end_ = callers_->next_end(time_of_day());
  return absl::OkStatus();
}

void api_guard::look_at_the_time() {
  const auto now = time_of_day();
  {
    const std::lock_guard lock(mutex_);
    if (next_end_ == no_time || now <= next_end_)
      return;
    next_end_ = callers_->next_end(now);
    ++callers_version_;
  }
  withdraw_streams("");
}

absl::StatusOr<caller> api_guard::find_out_who(const credentials_shown& shown) const {
  std::shared_ptr<const caller_file> callers;
  {
    const std::lock_guard lock(mutex_);
    callers = callers_;
  }
  return identify(shown, {callers.get(), !settings_.tls.authority.empty()}, time_of_day());
}

std::uint64_t api_guard::version_of_callers() const {
  const std::lock_guard lock(mutex_);
  return callers_version_;
}

bool api_guard::is_out_of_date(const open_call& call) const {
  const std::lock_guard lock(mutex_);
  return call.callers_version != callers_version_
         || (next_end_ != no_time && time_of_day() > next_end_);
}

absl::Status api_guard::look_up_again(open_call& call) const {
  // What a certificate tells by itself stays as it is.
  if (settings_.callers.empty() || !is_out_of_date(call))
    return absl::OkStatus();
  auto who = find_out_who(call.shown);
  if (!who.ok())
    return who.status();
  set_caller(call, *std::move(who));
  return absl::OkStatus();
}

absl::Status api_guard::take_request(const std::string& client) {
  const auto wait = requests_.take(client, std::chrono::steady_clock::now());
  if (wait == duration::zero())
    return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
    "{} makes more than {} requests a second; wait {} ms, or raise --requests-per-second of "
    "reprieved",
    client, settings_.limits.requests_per_second,
    std::chrono::ceil<std::chrono::milliseconds>(wait).count()));
}

absl::Status api_guard::room_to_record(const std::string& client) {
  if (!audit_)
    return absl::OkStatus();
  const auto wait = recorded_bytes_.take(client, std::chrono::steady_clock::now());
  if (wait == duration::zero())
    return absl::OkStatus();
  return mark_nothing_changed(absl::ResourceExhaustedError(fmt::format(
    "the changes of {} take more than {} KiB a second in the audit file, so this one is not made; "
    "wait {} ms, or raise --requests-per-second of reprieved",
    client, recorded_bytes_per_second(settings_.limits) / 1024,
    std::chrono::ceil<std::chrono::milliseconds>(wait).count())));
}

std::shared_ptr<open_call> api_guard::open(const call_origin& origin, api_call what) {
  auto call = std::make_shared<open_call>();
  call->asked = {what, changes_objects(what)};
  call->shown = origin.shown;
  call->traced = start_span(fmt::format("api.{}", to_string(what)), origin.trace);
  auto& about = call->record;
  about.id = fmt::format("{}-{}", run_id_, calls_.fetch_add(1) + 1);
  about.from = origin.peer;
  about.call = what;
  about.trace_id = trace_id_of(call->traced.context());
  return call;
}

bool api_guard::may_be_recorded(const std::string& client) {
  if (refusals_.take(client, std::chrono::steady_clock::now()) == duration::zero())
    return true;
  ++left_out_;
  return false;
}

absl::StatusOr<std::shared_ptr<open_call>> api_guard::enter(const call_origin& origin,
                                                            api_call what) {
  const auto callers_version = version_of_callers();
  auto who = find_out_who(origin.shown);
  const bool named = who.ok() && asks_who_calls(settings_);
  // A token and a certificate of the same name are two callers.
  auto client = named ? fmt::format(
                  "{} {}", origin.shown.authorization.empty() ? "certificate" : "token", who->name)
                      : network_of(host_of_peer(origin.peer));
  // Before anything is recorded: a flood must not fill the disk.
  if (auto taken = take_request(client); !taken.ok())
    return taken;
  auto counted = calls_at_once_.open(client);
  if (!counted.ok())
    return counted.status();
  auto call = open(origin, what);
  call->client = std::move(client);
  call->counted = *std::move(counted);
  call->callers_version = callers_version;
  auto allowed = who.status();
  if (who.ok()) {
    set_caller(*call, *std::move(who));
    allowed = check_access(call->who, what, {});
  }
  if (!allowed.ok())
    return refuse(*call, std::move(allowed));
  return call;
}

absl::Status api_guard::refuse(open_call& call, absl::Status why) {
  call.traced.fail(std::string(why.message()));
  if (!call.asked.changes || !may_be_recorded(call.client))
    return why;
  if (const auto written = record(call, "refused", why); !written.ok())
    settings_.say(std::string(written.message()));
  return why;
}

absl::Status api_guard::begin(open_call& call, asked_call asked) {
  call.asked = std::move(asked);
  call.record.objects = call.asked.objects;
  auto allowed = look_up_again(call);
  if (allowed.ok())
    allowed = check_access(call.who, call.asked.what, call.asked.objects);
  if (!allowed.ok())
    return refuse(call, std::move(allowed));
  if (!call.asked.changes)
    return absl::OkStatus();
  if (auto room = room_to_record(call.client); !room.ok())
    return refuse(call, std::move(room));
  const auto written = record(call, "begun", {});
  if (written.ok())
    return absl::OkStatus();
  return mark_nothing_changed(absl::UnavailableError(fmt::format(
    "{}; nothing is changed that can't be recorded, reads go on", std::string(written.message()))));
}

absl::Status api_guard::end(open_call& call, absl::Status answer) {
  if (!answer.ok())
    call.traced.fail(std::string(answer.message()));
  call.traced.end();
  if (!call.asked.changes)
    return answer;
  const auto written = record(call, "ended", answer);
  if (written.ok())
    return answer;
  settings_.say(std::string(written.message()));
  if (!answer.ok())
    return answer;
  return absl::DataLossError(fmt::format("the change was made, but its outcome is not recorded: {}",
                                         std::string(written.message())));
}

absl::StatusOr<stream_pointer> api_guard::keep_open(std::shared_ptr<open_call> call) {
  auto ticket = streams_.open(call->client);
  if (!ticket.ok())
    return ticket.status();
  call->counted.reset(); // it counts as a stream from now on
  auto stream = std::make_shared<open_stream>(std::move(call), *std::move(ticket));
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [](const auto& one) { return one.expired(); });
    open_.push_back(stream);
  }
  // The callers may have changed since the call was let in, when this one was not there to be
  // ended.
  if (auto may = may_stay(stream->of()); !may.ok())
    return may;
  return stream;
}

absl::Status api_guard::may_stay(const open_call& call) const {
  const auto who = find_out_who(call.shown);
  return who.ok() ? check_access(*who, call.asked.what, call.asked.objects) : who.status();
}

void api_guard::withdraw_streams(const std::string& because) {
  std::vector<stream_pointer> open;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& one : open_)
      if (auto stream = one.lock())
        open.push_back(std::move(stream));
  }
  for (const auto& stream : open)
    if (const auto may = may_stay(stream->of()); !may.ok())
      stream->withdraw(absl::Status(
        may.code(), fmt::format("{} may not have this stream any more, for {}{}",
                                stream->of().client, because, std::string(may.message()))));
}

void open_stream::when_withdrawn(ending end) {
  absl::Status already;
  {
    const std::lock_guard lock(mutex_);
    already = withdrawn_;
    if (already.ok())
      end_ = std::move(end);
  }
  if (!already.ok())
    end(already);
}

void open_stream::withdraw(const absl::Status& why) {
  ending end;
  {
    const std::lock_guard lock(mutex_);
    if (!withdrawn_.ok())
      return;
    withdrawn_ = why;
    end = std::move(end_);
  }
  if (end)
    end(why);
}

absl::Status api_guard::record(open_call& call, std::string_view stage,
                               const absl::Status& answer) {
  if (!audit_)
    return absl::OkStatus();
  auto& about = call.record;
  about.at = time_of_day();
  about.stage = stage;
  if (stage != "begun")
    about.outcome = absl::StatusCodeToString(answer.code());
  about.message = std::string(answer.message());
  about.left_out = left_out_.exchange(0);
  auto line = to_json(about);
  recorded_bytes_.spend(call.client, std::chrono::steady_clock::now(), std::ssize(line));
  return audit_->append_line(std::move(line));
}

} // namespace reprieve
