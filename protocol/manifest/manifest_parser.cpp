#include "protocol/manifest/manifest_parser.hpp"

#include "state/text/utf8.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

/// What the builder throws through the YAML parser; never leaves this file.
struct yaml_refusal : std::runtime_error {
  yaml_refusal(int refused_line, const std::string& message)
      : std::runtime_error(message), line(refused_line) {
    // nop
  }

  int line;
};

int line_of(const YAML::Mark& mark) {
  return mark.line < 0 ? 1 : mark.line + 1;
}

/// Builds the tree of one document from the parser's events.
class tree_builder : public YAML::EventHandler {
public:
  explicit tree_builder(std::string_view text) : text_(text) {
    // nop
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // Between documents, the parser can stand still on a stray character for ever.
    if (mark.pos <= start_)
      throw yaml_refusal(line_of(mark), "not valid YAML: nothing may stand here");
    start_ = mark.pos;
    values_ = 0;
    root_ = {};
  }

  void OnDocumentEnd() override {
    // nop
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, {}, anchor);
    if (awaits_key())
      throw yaml_refusal(line_of(mark), "not valid YAML: a field's name is missing before ':'");
    place(manifest_tree{.line = line_of(mark)});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse_alias(mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    if (value.find('\0') != std::string::npos)
      throw yaml_refusal(line_of(mark), "a text holds the character NUL; leave it out");
    const bool plain = tag == "?";
    if (!plain)
      last_quoted_ = mark;
    if (awaits_key())
      return begin_entry(mark, value);
    place(manifest_tree{
      .kind = plain ? manifest_tree::type::plain : manifest_tree::type::text,
      .line = line_of(mark),
      .scalar = value,
    });
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(manifest_tree::type::list, mark, tag, anchor);
  }

  void OnSequenceEnd() override {
    close();
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(manifest_tree::type::map, mark, tag, anchor);
  }

  void OnMapEnd() override {
    close();
  }

  const manifest_tree& root() const {
    return root_;
  }

  /// Refuses a quote that the end of the text closed, which the parser lets pass: the text was cut
  /// off, or the quote swallowed all that follows.
  void check_last_quote() const {
    if (!last_quoted_)
      return;
    auto rest = text_.substr(std::min<std::size_t>(last_quoted_->pos, text_.size()));
    if (!rest.starts_with('"') && !rest.starts_with('\''))
      return;
    const char quote = rest.front();
    for (std::size_t i = 1; i < rest.size(); ++i) {
      if (quote == '"' && rest[i] == '\\')
        ++i;
      else if (rest[i] == quote && quote == '\'' && rest.substr(i + 1).starts_with(quote))
        ++i;
      else if (rest[i] == quote)
        return;
    }
    throw yaml_refusal(line_of(*last_quoted_),
                       "not valid YAML: the quote that opens here is not closed");
  }

private:
  /// A list or map whose end has not come yet.
  struct open_tree {
    manifest_tree tree;
    std::set<std::string, std::less<>> keys{};
    std::optional<std::string> key{}; ///< of the value that comes next
    int key_line = 0;
  };

  [[noreturn]] static void refuse_alias(const YAML::Mark& mark) {
    throw yaml_refusal(line_of(mark), "anchors and aliases are not supported; write the value out");
  }

  void check(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) const {
    if (anchor != 0)
      refuse_alias(mark);
    const auto position = static_cast<std::size_t>(std::max(mark.pos, 0));
    const bool tagged = (!tag.empty() && tag != "?" && tag != "!")
                        || text_.substr(std::min(position, text_.size())).starts_with('!');
    if (tagged)
      throw yaml_refusal(line_of(mark),
                         "tags such as !!str are not supported; use quotes for text");
  }

  bool awaits_key() const {
    return !open_.empty() && open_.back().tree.kind == manifest_tree::type::map
           && !open_.back().key;
  }

  void begin_entry(const YAML::Mark& mark, const std::string& key) {
    auto& map = open_.back();
    if (!map.keys.insert(key).second)
      throw yaml_refusal(line_of(mark), fmt::format("'{:.60}' is given twice; keep one", key));
    map.key = key;
    map.key_line = line_of(mark);
  }

  void place(manifest_tree value) {
    if (++values_ > most_manifest_values)
      throw yaml_refusal(
        value.line,
        fmt::format("holds more than {} values; split it with '---' lines", most_manifest_values));
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    auto& parent = open_.back();
    if (parent.key) {
      value.key = *std::exchange(parent.key, std::nullopt);
      value.line = parent.key_line;
    }
    parent.tree.items.push_back(std::move(value));
  }

  void open(manifest_tree::type kind, const YAML::Mark& mark, std::string_view tag,
            YAML::anchor_t anchor) {
    check(mark, tag, anchor);
    if (awaits_key())
      throw yaml_refusal(line_of(mark), "a field's name must be a word, not a list or map");
    if (open_.size() == deepest_manifest)
      throw yaml_refusal(line_of(mark),
                         fmt::format("nests deeper than {} levels", deepest_manifest));
    open_.push_back({.tree = {.kind = kind, .line = line_of(mark)}});
  }

  void close() {
    auto done = std::move(open_.back().tree);
    open_.pop_back();
    place(std::move(done));
  }

  std::string_view text_;
  int start_ = -1; ///< position of the current document
  std::size_t values_ = 0;
  std::vector<open_tree> open_;
  manifest_tree root_;
  std::optional<YAML::Mark> last_quoted_;
};

absl::Status check_characters(std::string_view text, std::string_view file_name) {
  int line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto length = utf8_character_length(text.substr(i));
    if (length == 0)
      return manifest_error(file_name, line, "not valid UTF-8; save the file as UTF-8");
    if (is_control(c) && c != '\n' && c != '\r' && c != '\t')
      return manifest_error(
        file_name, line,
        fmt::format("holds the control character 0x{:02x}; is this a text file?", c));
    line += c == '\n' ? 1 : 0;
    i += length;
  }
  return absl::OkStatus();
}

/// The code unit of a `\uXXXX` that `text` begins with.
std::optional<unsigned> escaped_unit(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u"))
    return std::nullopt;
  unsigned unit = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  return end == text.data() + 6 ? std::optional{unit} : std::nullopt;
}

/// JSON spells characters above U+FFFF as two `\u` escapes, which YAML does not know: this puts
/// the one `\U` in their place.
std::string join_surrogates(std::string_view json) {
  std::string joined;
  joined.reserve(json.size());
  while (!json.empty()) {
    const auto high = escaped_unit(json);
    const auto low = high ? escaped_unit(json.substr(6)) : std::nullopt;
    if (low && *high >= 0xD800 && *high < 0xDC00 && *low >= 0xDC00 && *low < 0xE000) {
      joined += fmt::format("\\U{:08X}", 0x10000 + ((*high - 0xD800) << 10U) + (*low - 0xDC00));
      json.remove_prefix(12);
      continue;
    }
    const auto taken = json.substr(0, json.starts_with('\\') ? 2 : 1);
    joined += taken;
    json.remove_prefix(taken.size());
  }
  return joined;
}

/// JSON is a YAML document that starts with a bracket.
bool is_json(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

bool is_indented_by_tab(std::string_view text, int line) {
  for (; line > 1 && !text.empty(); --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  const auto first = text.find_first_not_of(' ');
  return first != std::string_view::npos && text[first] == '\t';
}

} // namespace

absl::Status manifest_error(std::string_view file_name, int line, std::string_view message) {
  auto whole = fmt::format("{}:{}: {}", file_name, line, message);
  std::replace_if(whole.begin(), whole.end(), is_control, '?');
  return absl::InvalidArgumentError(whole);
}

absl::Status parse_manifest(std::string_view text, std::string_view file_name,
                            const std::function<absl::Status(const manifest_tree&)>& each,
                            std::size_t most) {
  if (text.size() > most)
    return manifest_error(file_name, 1, fmt::format("has more than {} MiB; split it", most >> 20U));
  if (auto status = check_characters(text, file_name); !status.ok())
    return status;
  // The parser's positions do not count a byte order mark.
  if (text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);
  const std::string source = is_json(text) ? join_surrogates(text) : std::string(text);
  try {
    std::istringstream in(source);
    YAML::Parser parser(in);
    tree_builder builder(source);
    while (parser.HandleNextDocument(builder)) {
      builder.check_last_quote();
      if (builder.root().kind == manifest_tree::type::null)
        continue;
      if (auto status = each(builder.root()); !status.ok())
        return status;
    }
  } catch (const yaml_refusal& e) {
    return manifest_error(file_name, e.line, e.what());
  } catch (const YAML::Exception& e) {
    const auto line = line_of(e.mark);
    if (is_indented_by_tab(source, line))
      return manifest_error(file_name, line, "not valid YAML: a tab indents; use spaces");
    return manifest_error(file_name, line,
                          fmt::format("not valid YAML at column {}: {}", e.mark.column + 1, e.msg));
  } catch (const std::exception& e) {
    return manifest_error(file_name, 1, fmt::format("can't be read: {}", e.what()));
  }
  return absl::OkStatus();
}

} // namespace reprieve
