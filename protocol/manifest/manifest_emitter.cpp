#include "protocol/manifest/manifest_emitter.hpp"

#include "state/text/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

namespace reprieve {

namespace {

/// A JSON string, which is a YAML double-quoted scalar too.
void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const auto length = utf8_character_length(text);
    const auto character = text.substr(0, std::max<std::size_t>(length, 1));
    const auto byte = static_cast<unsigned char>(character.front());
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else if (byte == '"' || byte == '\\')
      (out += '\\') += character;
    else if (byte == '\n')
      out += "\\n";
    else if (is_control(character.front()))
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    else
      out += character;
    text.remove_prefix(character.size());
  }
  out += '"';
}

/// Whether YAML takes the text for itself without quotes. Narrower than YAML's own rule.
bool is_plain_text(std::string_view text) {
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  const auto is_inner = [&](unsigned char c) {
    return is_word(c) || c == '-' || c == '.' || c == '/' || c == ',';
  };
  return !text.empty() && is_word(static_cast<unsigned char>(text.front()))
         && std::all_of(text.begin(), text.end(), is_inner) && !looks_like_another_type(text);
}

void append_yaml_text(std::string_view text, std::string& out) {
  if (is_plain_text(text))
    out += text;
  else
    append_quoted(text, out);
}

void append_line_break(std::size_t indent, std::string& out) {
  out += '\n';
  out.append(indent, ' ');
}

/// Continues the line that `out` ends with, and ends without a line break.
void append_yaml(const manifest_tree& tree, std::size_t indent, std::string& out) {
  switch (tree.kind) {
  case manifest_tree::type::null:
    out += "null";
    return;
  case manifest_tree::type::plain:
    out += tree.scalar;
    return;
  case manifest_tree::type::text:
    append_yaml_text(tree.scalar, out);
    return;
  case manifest_tree::type::list:
    if (tree.items.empty())
      out += "[]";
    for (const auto& item : tree.items) {
      if (&item != &tree.items.front())
        append_line_break(indent, out);
      out += "- ";
      append_yaml(item, indent + 2, out);
    }
    return;
  case manifest_tree::type::map:
    if (tree.items.empty())
      out += "{}";
    for (const auto& item : tree.items) {
      if (&item != &tree.items.front())
        append_line_break(indent, out);
      append_yaml_text(item.key, out);
      out += ':';
      if (item.items.empty())
        out += ' ';
      else
        append_line_break(indent + 2, out);
      append_yaml(item, indent + 2, out);
    }
    return;
  }
}

void append_json(const manifest_tree& tree, std::size_t indent, std::string& out) {
  if (tree.kind == manifest_tree::type::null) {
    out += "null";
  } else if (tree.kind == manifest_tree::type::plain) {
    out += tree.scalar;
  } else if (tree.kind == manifest_tree::type::text) {
    append_quoted(tree.scalar, out);
  } else {
    const bool map = tree.kind == manifest_tree::type::map;
    out += map ? '{' : '[';
    for (const auto& item : tree.items) {
      out += &item == &tree.items.front() ? "" : ",";
      append_line_break(indent + 2, out);
      if (map) {
        append_quoted(item.key, out);
        out += ": ";
      }
      append_json(item, indent + 2, out);
    }
    if (!tree.items.empty())
      append_line_break(indent, out);
    out += map ? '}' : ']';
  }
}

} // namespace

std::string yaml_text(const manifest_tree& tree) {
  std::string text;
  append_yaml(tree, 0, text);
  return text + '\n';
}

std::string json_text(const manifest_tree& tree) {
  std::string text;
  append_json(tree, 0, text);
  return text + '\n';
}

} // namespace reprieve
