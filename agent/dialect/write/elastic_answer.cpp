#include "agent/dialect/write/elastic_answer.hpp"

#include "agent/dialect/rows/sort_value.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

void add_elastic_shards(JsonLine& line, ElasticShards shards) {
  line.add(R"("_shards":{"total":)", shards.total, R"(,"successful":)", shards.successful,
           R"(,"skipped":0,"failed":)", shards.total - shards.successful, '}');
}

/// One hit: the id as a string, the index after the score.
void add_elastic_hit(JsonLine& line, std::string_view hit, std::string_view index) {
  line.add('{');
  bool first = true;
  PassedMembers members(hit);
  while (const auto member = members.next()) {
    if (!first) line.add(',');
    first = false;
    if (member->name == "_source")
      line.add(R"("_index":)", Quoted(index), R"(,"_type":"doc","_version":1,)");
    if (member->name == "_id" && is_json_number(member->value))
      line.add(R"("_id":")", member->value, '"');
    else
      line.add('"', member->name, "\":", member->value);
  }
  line.add('}');
}

void add_elastic_hits(JsonLine& line, std::string_view hits, std::string_view index) {
  line.add(R"("hits":{)");
  bool scored = false;
  bool first = true;
  PassedMembers members(hits);
  while (const auto member = members.next()) {
    if (!first) line.add(',');
    first = false;
    scored |= member->name == "max_score";
    if (member->name != "hits") {
      line.add('"', member->name, "\":", member->value);
      continue;
    }
    line.add(scored ? R"("hits":[)" : R"("max_score":null,"hits":[)");
    bool later = false;
    JsonCursor json(member->value);
    JsonElements elements(json);
    while (elements.next()) {
      const auto hit = take_value(json);
      if (!hit) break;
      if (later) line.add(',');
      later = true;
      add_elastic_hit(line, *hit, index);
    }
    line.add(']');
  }
  line.add('}');
}

void append_elastic_hits(std::string& out, std::string_view answer, std::string_view index,
                         ElasticShards shards) {
  JsonLine line(out);
  line.add('{');
  PassedMembers members(answer);
  while (const auto member = members.next()) {
    if (member->name == "hits") {
      add_elastic_shards(line, shards);
      line.add(',');
      add_elastic_hits(line, member->value, index);
    } else {
      line.add('"', member->name, "\":", member->value);
    }
    line.add(',');
  }
  line.add(R"("status":200})");
}

void append_elastic_count(std::string& out, std::string_view answer, ElasticShards shards) {
  const auto total = last_member(last_member(answer, "hits"), "total");
  JsonLine line(out);
  line.add(R"({"count":)", total.empty() ? "0" : total, ',');
  add_elastic_shards(line, shards);
  line.add('}');
}

}  // namespace

void append_elastic(std::string& out, const ElasticForm& form, std::string_view answer,
                    ElasticShards shards) {
  if (form.only_count)
    append_elastic_count(out, answer, shards);
  else
    append_elastic_hits(out, answer, form.index, shards);
}

}  // namespace karmad
