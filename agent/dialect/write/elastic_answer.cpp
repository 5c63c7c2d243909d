#include "agent/dialect/write/elastic_answer.hpp"

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

void add_elastic_shards(JsonLine& line, ElasticShards shards) {
  line.add(R"("_shards":{"total":)");
  line.add_number(shards.total);
  line.add(R"(,"successful":)");
  line.add_number(shards.successful);
  line.add(R"(,"skipped":0,"failed":)");
  line.add_number(shards.total - shards.successful);
  line.add('}');
}

void add_elastic_member(JsonLine& line, std::string_view name, std::string_view value) {
  line.add('"');
  line.add(name);
  line.add("\":");
  line.add(value);
}

/// Of a value that is JSON.
bool is_number(std::string_view value) {
  return !value.empty() && (value.front() == '-' || (value.front() >= '0' && value.front() <= '9'));
}

/// One hit: the id as a string, the index after the score.
void add_elastic_hit(JsonLine& line, std::string_view hit, std::string_view index) {
  line.add('{');
  bool first = true;
  PassedMembers members(hit);
  while (const auto member = members.next()) {
    if (!first) line.add(',');
    first = false;
    if (member->name == "_source") {
      line.add(R"("_index":)");
      line.add_quoted(index);
      line.add(R"(,"_type":"doc","_version":1,)");
    }
    if (member->name == "_id" && is_number(member->value)) {
      line.add(R"("_id":")");
      line.add(member->value);
      line.add('"');
    } else {
      add_elastic_member(line, member->name, member->value);
    }
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
      add_elastic_member(line, member->name, member->value);
      continue;
    }
    if (!scored) line.add(R"("max_score":null,)");
    line.add(R"("hits":[)");
    JsonCursor json(member->value);
    take(json, '[');
    for (bool next = false; !take(json, ']'); next = true) {
      if (next && !take(json, ',')) break;
      const auto hit = take_value(json);
      if (!hit) break;
      if (next) line.add(',');
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
      add_elastic_member(line, member->name, member->value);
    }
    line.add(',');
  }
  line.add(R"("status":200})");
}

void append_elastic_count(std::string& out, std::string_view answer, ElasticShards shards) {
  std::string_view total = "0";
  PassedMembers members(answer);
  while (const auto member = members.next()) {
    if (member->name != "hits") continue;
    PassedMembers hits(member->value);
    while (const auto inner = hits.next())
      if (inner->name == "total") total = inner->value;
  }
  JsonLine line(out);
  line.add(R"({"count":)");
  line.add(total);
  line.add(',');
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
