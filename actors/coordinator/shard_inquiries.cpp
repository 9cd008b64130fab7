#include "actors/coordinator/shard_inquiries.hpp"

#include "actors/coordinator/scheduling_cycle.hpp"

#include <algorithm>

namespace reprieve {

namespace {

/// The answers as they come in.
struct gathered_answers {
  std::shared_ptr<const evaluation_request> asked;
  std::function<void()> then;
  std::size_t open = 0;
  bool complete = true;
  std::vector<shard_evaluation> given;
  std::vector<node_row> ahead; ///< of the shards when they were asked
  std::uint64_t as_of = 0;     ///< how often nodes of the view had been settled then
};

void take_answer(coordinator_state& state, gathered_answers& all) {
  if (--all.open > 0)
    return;
  shard_inquiry one{all.asked, {}};
  const auto& view = state.mirror.view_of_nodes();
  if (const auto changed = view.settled_since(all.as_of); all.complete && changed) {
    auto touched = std::move(all.ahead);
    const auto ahead = state.mirror.ahead_of_shards();
    touched.insert(touched.end(), ahead.begin(), ahead.end());
    touched.insert(touched.end(), changed->begin(), changed->end());
    one.seen.emplace(view, std::move(all.given), std::move(touched));
  }
  state.inquiries.add(std::move(one));
  all.then();
}

} // namespace

shard_inquiry* shard_inquiries::find(const preemptor& who) {
  const auto found =
    std::ranges::find_if(all_, [&](const shard_inquiry& one) { return is_for(*one.asked, who); });
  return found == all_.end() ? nullptr : &*found;
}

void shard_inquiries::forget_outdated(const resource_group& group) {
  std::erase_if(all_, [&](const shard_inquiry& one) {
    return one.asked->who.gang || !one.seen || one.seen->is_spent()
           || one.asked->settings.group != group;
  });
  if (are_enough()) // room for the kinds that come now
    all_.clear();
}

void ask_shards(coordinator_pointer self, evaluation_request wanted, std::function<void()> then) {
  auto& state = self->state;
  const auto& shards = state.settings.shards->nodes;
  for (auto& [number, news] :
       state.mirror.news_for_shards(static_cast<std::uint32_t>(shards.size())))
    self->send(shards[number], std::move(news));
  auto all = std::make_shared<gathered_answers>();
  all->asked = std::make_shared<const evaluation_request>(std::move(wanted));
  all->then = std::move(then);
  all->open = shards.size();
  all->ahead = state.mirror.ahead_of_shards();
  all->as_of = state.mirror.view_of_nodes().settled();
  for (const auto& shard : shards)
    self->request(shard, answer_time, evaluate_nodes{all->asked, {}})
      .then(
        [self, all](shard_evaluation& answer) {
          all->given.push_back(std::move(answer));
          take_answer(self->state, *all);
        },
        [self, all](caf::error&) {
          all->complete = false;
          take_answer(self->state, *all);
        });
}

} // namespace reprieve
