#include "balancer/explain/explain_record.hpp"

#include "config/text/number_in.hpp"

namespace karmad {

void ExplainRecord::clear() {
  query = kNone;
  topology = nullptr;
  table = nullptr;
  choices.clear();
  used_numbers = 0;
  left_out = 0;
  took.reset();
  status = 0;
  queued = {};
  merge.reset();
  partial = false;
  plan.clear();
}

void ExplainRecord::prefetch() const {
  constexpr std::size_t kLine = 64;
  const auto* const choice = reinterpret_cast<const char*>(choices.data());
  for (std::size_t at = 0; at < sizeof(ExplainedChoice) - sizeof(AvoidReasons); at += kLine)
    __builtin_prefetch(choice + at, 1);
  __builtin_prefetch(numbers.data(), 1);
}

void ExplainRing::keep(std::size_t records) {
  if (records == records_.size()) return;
  records_ = std::vector<ExplainRecord>(records);
  next_ = 0;
}

std::size_t ExplainRing::begin(std::uint64_t query) {
  const auto place = next_;
  auto& record = records_[place];
  if (++next_ == records_.size()) next_ = 0;
  record.prefetch();
  record.clear();
  record.query = query;
  return place;
}

const ExplainRecord* ExplainRing::find(std::string_view request_id) const {
  const auto number = number_in<std::uint64_t>(request_id).value_or(ExplainRecord::kNone);
  for (std::size_t back = 1; back <= records_.size(); ++back) {
    const auto& record = records_[(next_ + records_.size() - back) % records_.size()];
    if (record.query == ExplainRecord::kNone) continue;
    if (record.request_id.text() == request_id || record.query == number) return &record;
  }
  return nullptr;
}

void ExplainRing::adopt(std::shared_ptr<const Topology> next) {
  if (next == kept_.front()) return;
  for (auto& record : records_)
    if (record.topology == kept_.back().get()) record.clear();
  kept_.back() = std::move(next);
  std::ranges::swap(kept_.front(), kept_.back());
}

}  // namespace karmad
