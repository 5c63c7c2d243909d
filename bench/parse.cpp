// What does it cost to parse a head, to decode a chunked body, and to write a head?
#include <benchmark/benchmark.h>

#include <string>

#include "agent/transport/http/http_head.hpp"
#include "agent/transport/http/http_write.hpp"

namespace karmad {
namespace {

const std::string kSmallRequest =
    "POST /search HTTP/1.1\r\nHost: 127.0.0.1:9308\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
    "Content-Type: application/json\r\nContent-Length: 312\r\n\r\n";

const std::string kBrowserRequest =
    "GET /search?q=fast+full+text+search&limit=20 HTTP/1.1\r\nHost: search.example.com\r\n"
    "Connection: keep-alive\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko\r\n"
    "Accept: application/json, text/plain, */*\r\nAccept-Encoding: gzip, deflate, br\r\n"
    "Accept-Language: en-US,en;q=0.9\r\nReferer: https://www.example.com/results/page/2\r\n\r\n";

const std::string kResponse =
    "HTTP/1.1 200 OK\r\nServer: 6.0.4 1a3a4ea82@230314\r\nContent-Type: application/json; "
    "charset=UTF-8\r\nConnection: keep-alive\r\nContent-Length: 512\r\n\r\n";

void request_head(benchmark::State& state, const std::string& bytes) {
  RequestHead head;
  for (auto _ : state) {
    auto result = parse_request_head(bytes, {}, head);
    if (!result || *result != HeadState::complete) state.SkipWithError("refused");
    benchmark::DoNotOptimize(head);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK_CAPTURE(request_head, small, kSmallRequest);
BENCHMARK_CAPTURE(request_head, browser, kBrowserRequest);

void response_head(benchmark::State& state) {
  ResponseHead head;
  for (auto _ : state) {
    auto result = parse_response_head(kResponse, {}, false, head);
    if (!result || *result != HeadState::complete) state.SkipWithError("refused");
    benchmark::DoNotOptimize(head);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kResponse.size()));
}
BENCHMARK(response_head);

void chunked_body(benchmark::State& state) {
  std::string chunked;
  for (int i = 0; i < 16; ++i) chunked += "400\r\n" + std::string(0x400, 'x') + "\r\n";
  chunked += "0\r\n\r\n";
  std::string out;
  for (auto _ : state) {
    out.clear();
    ChunkedBody body{1 << 20};
    benchmark::DoNotOptimize(body.put(chunked, out));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(chunked.size()));
}
BENCHMARK(chunked_body);

void write_head(benchmark::State& state, bool pass_on) {
  RequestHead from;
  if (!parse_request_head(kBrowserRequest, {}, from)) state.SkipWithError("refused");
  std::string out;
  for (auto _ : state) {
    out.clear();
    write_request_head(out, {.target = "/search",
                             .host = "10.0.0.1:9308",
                             .content_type = "application/json",
                             .content_length = 312,
                             .passed_on = pass_on ? &from : nullptr});
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK_CAPTURE(write_head, own, false);
BENCHMARK_CAPTURE(write_head, pass_through, true);

}  // namespace
}  // namespace karmad
