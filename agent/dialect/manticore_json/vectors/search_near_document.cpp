#include "agent/dialect/manticore_json/vectors/search_near_document.hpp"

#include <fmt/format.h>

#include <utility>

#include "agent/dialect/manticore_json/reply.hpp"
#include "agent/dialect/manticore_json/vectors/nearest_to_document.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

class SearchNearDocument final : public NearestToDocument {
 public:
  SearchNearDocument(std::unique_ptr<SearchPlan> search, KnnDocument document,
                     std::string_view body, SearchRequest request, ShardLayout layout,
                     const DialectSettings& settings)
      : NearestToDocument(std::move(search), std::move(document.field), std::move(document.id),
                          layout),
        body_(body),
        request_(std::move(request)),
        shards_(layout.shards),
        settings_(settings) {}

 private:
  void write_look_up(std::span<const std::string> tables, std::string& body) const override {
    body += R"({"table":)";
    append_tables(body, tables);
    JsonLine out(body);
    out.add(R"(,"query":{"equals":{"id":)");
    out.add(id());
    out.add(R"(}},"_source":[)");
    out.add_quoted(lower(attribute()));
    out.add(R"(],"limit":1})");
  }

  std::expected<std::optional<std::string_view>, std::string> vector_in(
      std::string_view reply) const override {
    auto head = read_reply(reply, ReadTail::no);
    if (!head) return std::unexpected(std::move(head.error()));
    JsonElements hits(head->hits);
    if (!hits.next()) {
      if (!hits.complete()) return std::unexpected("its hits are malformed");
      return std::nullopt;
    }
    std::string_view source;
    const bool whole = visit_members(head->hits, [&](std::string_view key, std::string_view value) {
      if (json_says(key, "_source")) source = value;
      return true;
    });
    if (!whole || !is_object(source)) return std::unexpected("a hit is malformed");
    PassedMembers members(source);
    while (const auto member = members.next())
      if (same_attribute(json_unescaped(member->name), attribute())) return member->value;
    return std::string_view();
  }

  std::expected<std::unique_ptr<FanOut>, ClientError> search_by(
      std::string_view vector) const override {
    return SearchPlan::make(body_, request_, shards_, settings_, vector);
  }

  const std::string_view body_;
  const SearchRequest request_;
  const std::size_t shards_;
  const DialectSettings& settings_;
};

}  // namespace

std::unique_ptr<FanOut> search_near_document(std::unique_ptr<SearchPlan> search,
                                             std::string_view body, SearchRequest request,
                                             ShardLayout layout, const DialectSettings& settings) {
  auto document = *search->document();
  return std::make_unique<SearchNearDocument>(std::move(search), std::move(document), body,
                                              std::move(request), layout, settings);
}

}  // namespace karmad
