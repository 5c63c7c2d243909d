#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "agent/ping_kinds/json.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "agent/stats/document.hpp"

namespace karmad {
namespace {

using rapidjson::Value;

/// Reads members one by one; stores the first error and reads the others anyway.
class Members {
 public:
  explicit Members(const Value& of) : of_(of) {}

  const std::string& wrong() const { return wrong_; }

  const Value* find(std::string_view name) const { return member(of_, name); }

  void should_be(std::string_view name, std::string_view what) {
    if (wrong_.empty())
      wrong_ = fmt::format("the description's member '{}' should be {}", name, what);
  }

  /// true, false, 1 or 0.
  bool flag(std::string_view name, bool otherwise) {
    const auto* found = find(name);
    if (found == nullptr) return otherwise;
    if (found->IsBool()) return found->GetBool();
    if (found->IsNumber() && (found->GetDouble() == 0 || found->GetDouble() == 1))
      return found->GetDouble() == 1;
    should_be(name, "true or false");
    return otherwise;
  }

  std::optional<std::string> text(std::string_view name) {
    return read(name, &Value::IsString, "a string",
                [](const Value& found) { return std::string(text_of(found)); });
  }
  std::optional<std::int64_t> whole(std::string_view name) {
    return read(name, &Value::IsInt64, "a whole number", &Value::GetInt64);
  }
  std::optional<std::uint64_t> counter(std::string_view name) {
    return read(name, &Value::IsUint64, "a whole number, zero or more", &Value::GetUint64);
  }
  std::optional<double> number(std::string_view name) {
    return read(name, &Value::IsNumber, "a number", &Value::GetDouble);
  }

  /// A string unchanged; a number padded with zeros, so that texts have the order of the numbers.
  std::optional<std::string> text_or_counter(std::string_view name) {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    if (found->IsString()) return std::string(text_of(*found));
    if (found->IsUint64()) return fmt::format("{:020}", found->GetUint64());
    should_be(name, "a string or a whole number");
    return std::nullopt;
  }

  Tags tags(std::string_view name) {
    Tags out;
    const auto* found = find(name);
    if (found == nullptr) return out;
    if (!found->IsObject()) {
      should_be(name, "an object of strings");
      return out;
    }
    for (const auto& tag : found->GetObject()) {
      if (!tag.value.IsString())
        should_be(name, "an object of strings");
      else if (!add_reported_tag(out, text_of(tag.name), text_of(tag.value)))
        should_be(name, fmt::format("an object of at most {} strings", kMaxTags));
    }
    return out;
  }

  Role role(std::string_view name) {
    const auto* found = find(name);
    if (found == nullptr) return Role::standalone;
    const auto role = found->IsString() ? role_named(text_of(*found)) : std::nullopt;
    if (role && *role != Role::unknown) return *role;
    should_be(name, "primary, replica, arbiter, other, ghost, standalone or router");
    return Role::other;
  }

 private:
  /// What `get` returns of the member, if it is of that type.
  template <class Get>
  auto read(std::string_view name, bool (Value::*is)() const, std::string_view what, Get get)
      -> std::optional<std::invoke_result_t<Get, const Value&>> {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    if ((found->*is)()) return std::invoke(get, *found);
    should_be(name, what);
    return std::nullopt;
  }

  const Value& of_;
  std::string wrong_;
};

/// The role, and the reason if the mirror does not serve although its role would.
void read_role(Members& members, Description& out) {
  out.role = members.role("role");
  const bool hidden = members.flag("hidden", false);
  const bool draining = members.flag("draining", false);
  if (!serves(out.role)) out.why = members.text("why").value_or("");
  if (!hidden && !draining) return;
  out.role = Role::other;
  out.why = hidden ? "hidden" : "draining";
}

void read_version(Members& members, Description& out) {
  auto process = members.text("process_id");
  const auto counter = members.whole("counter");
  if (process && counter) out.version = {std::move(*process), *counter};
  const auto api = members.counter("api");
  if (!api) return;
  if (*api > 1'000'000) members.should_be("api", "a small whole number");
  out.api = static_cast<unsigned>(*api);
}

/// Writes members of an object; what has no value is left out.
void put(Document& out, std::string_view name, const std::optional<std::string>& value) {
  if (value) out.text(name, *value);
}
template <class Number>
void put(Document& out, std::string_view name, const std::optional<Number>& value) {
  if (value) out.value(name, *value);
}

void put_members(Document& out, const Description& description) {
  out.value("ok", true);
  out.text("role", name(description.role == Role::unknown ? Role::other : description.role));
  if (!description.why.empty()) out.text("why", description.why);
  put(out, "set", description.set);
  put(out, "me", description.me);
  if (!description.tags.empty())
    out.object("tags", [&] {
      for (const auto& tag : description.tags) out.text(tag.name, tag.value);
    });
  put(out, "last_write_ms", description.last_write_ms);
  put(out, "generation", description.generation);
  put(out, "election_id", description.election_id);
  put(out, "set_version", description.set_version);
  if (description.version) {
    out.text("process_id", description.version->process_id);
    out.value("counter", description.version->counter);
  }
  out.value("api", description.api);
  if (description.load && std::isfinite(*description.load)) out.value("load", *description.load);
}

std::vector<PingRequest> ask(std::string_view path, std::string_view) {
  return {{.target = path.empty() ? "/hello" : std::string(path)}};
}

std::expected<Description, std::string> describe(std::span<const PingAnswer> answers,
                                                 std::string_view, std::string_view) {
  if (answers.empty()) return std::unexpected("did not answer the ping");
  if (!is_success(answers[0].status)) return std::unexpected(answered_with(answers[0].status));
  return parse_description(answers[0].body);
}

}  // namespace

std::expected<Description, std::string> parse_description(std::string_view json) {
  const auto parsed = parse_answer(json);
  if (!parsed || !parsed->IsObject())
    return std::unexpected("the description is not a JSON object");
  Members members(*parsed);
  if (!members.flag("ok", true))
    members.should_be("ok", "true: the mirror reports that it is not healthy");
  Description out;
  read_role(members, out);
  out.set = members.text("set");
  out.me = members.text("me");
  out.tags = members.tags("tags");
  out.last_write_ms = members.whole("last_write_ms");
  out.generation = members.counter("generation");
  out.election_id = members.text_or_counter("election_id");
  out.set_version = members.whole("set_version");
  read_version(members, out);
  out.load = members.number("load");
  if (!members.wrong().empty()) return std::unexpected(members.wrong());
  return out;
}

std::string text(const Description& description) {
  return json_object([&](Document& out) { put_members(out, description); });
}

constinit const PingKind kNativePing{
    .name = "native", .requests = ask, .describe = describe, .tells_roles = true};

}  // namespace karmad
