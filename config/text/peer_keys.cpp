#include "config/text/sections.hpp"

#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace karmad {

namespace {

constexpr auto kSearchd = R"(
access_blob_attrs access_dict access_doclists access_hitlists access_plain_attrs
accurate_aggregation address attr_autoconv_strict attr_flush_period auto_optimize auto_schema
binlog_common binlog_filename_digits binlog_flush binlog_max_log_size binlog_path boolean_simplify
buddy_path collation_libc_locale compat_sphinxql_magics crash_log_path data_dir
diskchunk_flush_search_timeout diskchunk_flush_write_timeout dist_threads
distinct_precision_threshold docstore_cache_size engine expansion_limit
expansion_merge_threshold_docs expansion_merge_threshold_hits expansion_phrase_limit
expansion_phrase_warning grouping_in_utc jobs_queue_size join_batch_size join_cache_size
kibana_version_string knn_threads listen_tfo log log_http max_batch_queries max_children
max_filter_values max_filters max_matches max_open_files max_threads_per_query
merge_buffer_attributes merge_buffer_columnar merge_buffer_dict merge_buffer_fulltext
merge_buffer_storage merge_chunks_per_job merge_si_memlimit mva_updates_pool mysql_version_string
net_send_job net_spin_msec net_throttle_accept net_throttle_action net_wait_tm net_workers
node_address not_terms_only_allowed ondisk_attrs_default ondisk_dict_default optimize_cutoff
parallel_chunk_merges pid_file plugin_dir port predicted_time_costs prefer_rotate prefork
prefork_rotation_throttle preopen_indexes preopen_tables pseudo_sharding qcache_max_bytes
qcache_thresh_msec qcache_ttl_sec query_log query_log_commands query_log_format query_log_min_msec
query_log_mode queue_max_length read_buffer read_buffer_columnar read_buffer_docs read_buffer_hits
read_unhinted replication_connect_timeout replication_query_timeout replication_retry_count
replication_retry_delay reset_network_timeout_on_packet rt_flush_period rt_mem_limit rt_merge_iops
rt_merge_maxiosize seamless_rotate secondary_index_block_cache secondary_indexes server_id
shared_binlog shutdown_token skiplist_cache_size snippets_file_prefix sphinxql_state
sphinxql_timeout ssl_ca ssl_cert ssl_key subtree_docs_cache subtree_hits_cache telemetry
thread_stack threads timezone unlink_old use_secondary_indexes watchdog
)";

constexpr auto kTable = R"(
access_blob_attrs access_dict access_doclists access_hitlists access_plain_attrs
attr_autoconv_strict attr_update_reserve bigram_delimiter bigram_freq_words bigram_index
blend_chars blend_mode charset_table charset_type columnar_attrs columnar_compression_int64
columnar_compression_uint32 columnar_no_fast_fetch columnar_strings_no_hash columnar_subblock dict
diskchunk_flush_search_timeout diskchunk_flush_write_timeout divide_remote_ranges docinfo
docstore_block_size docstore_compression docstore_compression_level embedded_limit enable_star
engine engine_default exceptions expand_keywords field field_string global_idf hit_format
hitless_words html_index_attrs html_remove_elements html_strip ignore_chars index_exact_words
index_field_lengths index_sp index_token_filter index_zones infix_fields inplace_docinfo_gap
inplace_enable inplace_hit_gap inplace_reloc_factor inplace_write_factor jieba_hmm jieba_mode
jieba_user_dict_path json_secondary_indexes kbatch kbatch_source killlist_target knn max_matches
max_substring_len min_infix_len min_prefix_len min_stemming_len min_word_len mlock morphology
morphology_skip_fields ngram_chars ngram_len ondisk_attrs ondisk_dict optimize_cutoff
overshort_step phrase_boundary phrase_boundary_step prefix_fields preopen query_log
read_buffer_columnar read_buffer_docs read_buffer_hits read_unhinted regexp_filter rlp_context
rowwise_attrs rt_attr_bigint rt_attr_bool rt_attr_float rt_attr_float_vector rt_attr_json
rt_attr_multi rt_attr_multi_64 rt_attr_string rt_attr_timestamp rt_attr_uint rt_field rt_mem_limit
source stopword_step stopwords stopwords_unstemmed stored_fields stored_only_fields wordforms
)";

using Words = std::set<std::string, std::less<>>;

Words words_of(const char* text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

struct Missed {
  std::string_view key;
  std::string_view what;
};

constexpr std::string_view kOwnTls = "tls_certificate, tls_key and tls_client_ca encrypt";
constexpr std::string_view kNoQueue =
    "search_tickets and update_tickets limit the requests in progress";
constexpr std::string_view kNoThrottle = "ingress_connection_rate limits new connections";

constexpr Missed kMissed[] = {
    {"jobs_queue_size", kNoQueue},
    {"max_children", kNoQueue},
    {"net_throttle_accept", kNoThrottle},
    {"net_throttle_action", kNoThrottle},
    {"queue_max_length", kNoQueue},
    {"ssl_ca", kOwnTls},
    {"ssl_cert", kOwnTls},
    {"ssl_key", kOwnTls},
};

}  // namespace

std::string_view missed_without(SectionKind kind, std::string_view key) {
  if (kind != SectionKind::searchd) return {};
  for (const auto& missed : kMissed)
    if (missed.key == key) return missed.what;
  return {};
}

bool is_ignored_peer_key(SectionKind kind, std::string_view key) {
  static const auto of_searchd = words_of(kSearchd);
  static const auto of_table = words_of(kTable);
  if (kind == SectionKind::searchd) return of_searchd.contains(key);
  if (kind == SectionKind::table) return of_table.contains(key);
  return true;  // those sections are ignored as a whole
}

}  // namespace karmad
