// The forms of configuration that were tried on the search server itself: which of them load here,
// and what is said. Where the two differ, we are the stricter ones: a table that cannot be served
// as written is an error before the start, not a table that is missing afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <sstream>

#include "config/agent_line.hpp"
#include "config/settings/keys.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

struct Form {
  const char* name;
  std::string text;
  const char* problem;      // empty: it loads
  const char* notice = "";  // and this is among what is said
};

const Form kForms[] = {
    {"options separated by a blank",
     table(" agent = 127.0.0.1:9312:t [ha_strategy=random retry_count=10]"),
     "c:3:46: a comma is needed between two options"},
    {"options separated by commas",
     table(" agent = 127.0.0.1:9312|127.0.0.1:9313:t [ha_strategy=noerrors, retry_count=8, "
           "conn=persistent,blackhole=0]"),
     ""},
    {"unknown option", table(" agent = 127.0.0.1:9312:t [foo=1]"), "c:3:28: unknown option 'foo'"},
    {"two agents, the first broken", table(" agent = 127.0.0.1:70000:t\n agent = 127.0.0.1:9312:t"),
     "c:3:20: port 70000 is larger than 65535"},
    {"no port", table(" agent = 10.0.0.1:t"), "", "has no port; 9308 is used"},
    {"unknown strategy, judged by the strategies' room",
     table(" ha_strategy = fastest\n agent = 127.0.0.1:9312|127.0.0.1:9313:t"), ""},
    {"ha_strategy in searchd",
     "searchd {\n ha_strategy = noerrors\n}\n" + table(" agent = 127.0.0.1:9312:t"), ""},
    {"agent_retry_delay in a table", table(" agent = 127.0.0.1:9312:t\n agent_retry_delay = 10"),
     "c:4:2: 'agent_retry_delay' belongs in searchd, not here"},
    {"mirror_retry_count in searchd",
     "searchd {\n mirror_retry_count = 3\n}\n" + table(" agent = 127.0.0.1:9312:t"), ""},
    {"many retries", "searchd {\n agent_retry_count = 20\n agent_retry_delay = 5000\n}\n", "",
     "20 retries: more than 8"},
    {"a fraction of a second", "searchd {\n ha_ping_interval = 1.5s\n}\n",
     "c:2:22: ha_ping_interval: '1.5s' has a fraction"},
    {"minutes", "searchd {\n ha_period_karma = 2m\n}\n", ""},
    {"a blank before the unit", "searchd {\n agent_connect_timeout = 500 ms\n}\n",
     "c:2:29: agent_connect_timeout: '500 ms' has a blank between number and unit"},
    {"a timeout of zero", "searchd {\n agent_query_timeout = 0\n}\n",
     "c:2:24: agent_query_timeout is shorter than 1ms: 0"},
    {"karma period zero", "searchd {\n ha_period_karma = 0\n}\n",
     "c:2:20: ha_period_karma is shorter than one second"},
    {"karma period below a second", "searchd {\n ha_period_karma = 500ms\n}\n",
     "c:2:20: ha_period_karma is shorter than one second"},
    {"both names of the retry count",
     table(" agent = a:1|b:1:t\n agent_retry_count=2\n mirror_retry_count=3"), "",
     "mirror_retry_count overrides its other name"},
    {"negative retry count", table(" agent = a:1|b:1:t\n mirror_retry_count=-1"),
     "c:4:21: mirror_retry_count: '-1' must not be negative"},
    {"strategy without mirrors", table(" agent = 127.0.0.1:9312:t\n ha_strategy=nodeads"), "",
     "ha_strategy has no effect"},
    {"agent_persistent without a limit", table(" agent_persistent = 127.0.0.1:9312:t"), ""},
    {"no agent", table(""),
     "c:1:1: table 't' needs a line of agent or agent_persistent, or discovery"},
    {"local table", table(" local = nope\n agent = a:1"), "c:3:2: karmad has no local tables"},
    {"the same table twice", table(" agent = a:1") + table(" agent = a:1"),
     "c:5:1: table 't' is already defined"},
    {"unknown parent", "table b : zzz {\n type=distributed\n agent = a:1:w\n}",
     "c:1:11: the parent 'zzz' of table 'b' is not defined before it"},
    {"unknown key", "searchd {\n foo = 1\n}", "c:2:2: unknown key 'foo'"},
    {"unknown section", "foo {\n a = 1\n}", "c:1:1: unknown section 'foo'"},
    {"host that may not resolve", table(" agent = no.such.host.invalid:9312:t"), ""},
    {"options of the line behind a mirror",
     table(" agent = 127.0.0.1:9312:t[conn=pconn]|127.0.0.1:9313:t"),
     "c:3:27: conn holds for the whole line"},
    {"keywords in capitals", "INDEX a {\n TYPE=distributed\n Agent = 127.0.0.1:9312:t\n}", ""},
    {"missing closing brace", "table a {\n type=distributed\n agent = 127.0.0.1:9312:t\n",
     "c:4:1: the closing '}'"},
    {"a dot in a name", "table my-table.x {\n type=distributed\n agent = 127.0.0.1:9312:t\n}",
     "c:1:15: expected ':' or '{', found '.'"},
};

TEST(PeerForms, LoadOrAreRefusedWithAReason) {
  for (const auto& form : kForms) {
    const auto problems = problems_of(form.text);
    if (*form.problem == '\0') {
      EXPECT_EQ(problems, Lines{}) << form.name;
      EXPECT_TRUE(*form.notice == '\0' || mentions(notices_of(form.text), form.notice))
          << form.name << testing::PrintToString(notices_of(form.text));
    } else {
      ASSERT_EQ(problems.size(), 1U) << form.name << testing::PrintToString(problems);
      EXPECT_TRUE(problems[0].starts_with(form.problem)) << form.name << ": " << problems[0];
    }
  }
}

// All keys that the search server reads in its sections, also those that it has given up.
constexpr std::string_view kServersSearchdKeys =
    "address port listen log query_log read_timeout network_timeout client_timeout "
    "reset_network_timeout_on_packet max_children pid_file max_matches seamless_rotate "
    "preopen_indexes unlink_old ondisk_dict_default attr_flush_period max_packet_size "
    "mva_updates_pool max_filters max_filter_values max_open_files listen_backlog listen_tfo "
    "read_buffer read_buffer_docs read_buffer_hits read_buffer_columnar read_unhinted "
    "max_batch_queries subtree_docs_cache subtree_hits_cache workers prefork dist_threads "
    "max_threads_per_query binlog_flush binlog_path binlog_max_log_size "
    "binlog_filename_digits binlog_common thread_stack expansion_limit rt_flush_period "
    "query_log_format mysql_version_string plugin_dir collation_server collation_libc_locale "
    "watchdog prefork_rotation_throttle snippets_file_prefix sphinxql_state rt_merge_iops "
    "rt_merge_maxiosize ha_ping_interval ha_period_karma predicted_time_costs "
    "persistent_connections_limit ondisk_attrs_default shutdown_timeout query_log_min_msec "
    "agent_connect_timeout agent_query_timeout agent_retry_delay agent_retry_count "
    "net_wait_tm net_throttle_action net_throttle_accept net_send_job net_workers "
    "queue_max_length qcache_ttl_sec qcache_max_bytes qcache_thresh_msec sphinxql_timeout "
    "hostname_lookup grouping_in_utc query_log_mode prefer_rotate shutdown_token timezone "
    "data_dir node_address server_id access_plain_attrs access_blob_attrs access_doclists "
    "access_hitlists access_dict docstore_cache_size skiplist_cache_size ssl_cert ssl_key "
    "ssl_ca max_connections threads jobs_queue_size not_terms_only_allowed query_log_commands "
    "auto_optimize pseudo_sharding optimize_cutoff secondary_indexes accurate_aggregation "
    "distinct_precision_threshold preopen_tables buddy_path telemetry auto_schema engine "
    "join_cache_size replication_connect_timeout replication_query_timeout "
    "replication_retry_delay replication_retry_count expansion_merge_threshold_docs "
    "expansion_merge_threshold_hits merge_buffer_attributes merge_buffer_columnar "
    "merge_buffer_storage merge_buffer_fulltext merge_buffer_dict merge_si_memlimit log_http "
    "join_batch_size diskchunk_flush_write_timeout diskchunk_flush_search_timeout "
    "kibana_version_string";
constexpr std::string_view kServersTableKeys =
    "source path docinfo mlock morphology stopwords exceptions wordforms embedded_limit "
    "min_word_len charset_type charset_table ignore_chars min_prefix_len min_infix_len "
    "max_substring_len prefix_fields infix_fields enable_star ngram_len ngram_chars "
    "phrase_boundary phrase_boundary_step ondisk_dict type agent agent_blackhole "
    "agent_persistent agent_retry_count mirror_retry_count agent_connect_timeout ha_strategy "
    "agent_query_timeout html_strip html_index_attrs html_remove_elements preopen "
    "inplace_enable inplace_hit_gap inplace_docinfo_gap inplace_reloc_factor "
    "inplace_write_factor index_exact_words min_stemming_len overshort_step stopword_step "
    "blend_chars expand_keywords hitless_words hit_format rt_field rt_attr_uint "
    "rt_attr_bigint rt_attr_float rt_attr_float_vector rt_attr_timestamp rt_attr_string "
    "rt_attr_multi rt_attr_multi_64 rt_attr_json rt_attr_bool rt_mem_limit dict index_sp "
    "index_zones blend_mode regexp_filter bigram_freq_words bigram_index index_field_lengths "
    "divide_remote_ranges stopwords_unstemmed global_idf rlp_context ondisk_attrs "
    "index_token_filter morphology_skip_fields killlist_target read_buffer_docs "
    "read_buffer_hits read_buffer_columnar read_unhinted attr_update_reserve "
    "access_plain_attrs access_blob_attrs access_doclists access_hitlists access_dict "
    "stored_fields stored_only_fields docstore_block_size docstore_compression "
    "docstore_compression_level columnar_attrs columnar_no_fast_fetch rowwise_attrs "
    "columnar_strings_no_hash columnar_compression_uint32 columnar_compression_int64 "
    "columnar_subblock optimize_cutoff engine_default knn json_secondary_indexes jieba_hmm "
    "jieba_mode jieba_user_dict_path diskchunk_flush_write_timeout "
    "diskchunk_flush_search_timeout";

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

/// The keys among `names` that have no meaning here.
template <class Owner>
std::vector<std::string> without_meaning(std::string_view names,
                                         std::span<const Key<Owner>> known) {
  auto out = words_of(names);
  std::erase_if(out, [&](const auto& name) {
    return std::ranges::find(known, name, &Key<Owner>::name) != known.end();
  });
  return out;
}

TEST(PeerForms, EveryKeyOfTheServerIsKnownOrIgnored) {
  std::string searchd;
  for (const auto& key : without_meaning(kServersSearchdKeys, searchd_keys()))
    searchd += " " + key + " = 1\n";
  EXPECT_EQ(problems_of("searchd {\n" + searchd + "}\n"), Lines{});
  std::string body;
  for (const auto& key : without_meaning(kServersTableKeys, table_keys()))
    body += " " + key + " = 1\n";
  EXPECT_EQ(problems_of(table(body + " agent = a:1")), Lines{});
}

TEST(PeerForms, AMisspeltKeyOfTheServerIsAnError) {
  for (const auto& key : without_meaning(kServersSearchdKeys, searchd_keys()))
    EXPECT_TRUE(mentions(problems_of("searchd {\n " + key + "z = 1\n}\n"), "key '" + key + "z'"))
        << key;
  for (const auto& key : without_meaning(kServersTableKeys, table_keys()))
    EXPECT_TRUE(
        mentions(problems_of(table(" " + key + "z = 1\n agent = a:1")), "key '" + key + "z'"))
        << key;
}

std::string only_shard_of_last_table(const std::string& text) {
  const auto loaded = load_text(text);
  if (!loaded.settings || loaded.settings->tables.back().shards.size() != 1) return "not one shard";
  const auto& table = loaded.settings->tables.back();
  return karmad::text(table.shards[0], table);
}

TEST(PeerForms, InheritingTableReplacesTheWholeListOfAgents) {
  EXPECT_EQ(
      only_shard_of_last_table("table a {\n type=distributed\n agent = x:1:t\n agent = y:1:u\n"
                               " ha_strategy=nodeads\n}\n"
                               "table b : a {\n agent = 127.0.0.1:9314|127.0.0.1:9315:w\n}"),
      "127.0.0.1:9314:w|127.0.0.1:9315:w");
}

TEST(PeerForms, ContinuedLinesAndCommentsAreNoPartOfTheValue) {
  EXPECT_EQ(only_shard_of_last_table("table a {\n type=distributed # trailing comment\n"
                                     " agent = 127.0.0.1:9312 \\\n   | 127.0.0.1:9313:t\n}"),
            "127.0.0.1:9312:t|127.0.0.1:9313:t");
}

TEST(PeerForms, AClosingBraceOnAValuesLineIsNoPartOfTheTablesName) {
  EXPECT_EQ(only_shard_of_last_table("table a {\n type=distributed\n agent = 127.0.0.1:9312:t }\n"),
            "127.0.0.1:9312:t");
}

}  // namespace
}  // namespace karmad
