#include "balancer/rules/admission/rate_gates.hpp"

#include <bit>
#include <random>
#include <utility>

#include "strategies/random_source.hpp"

namespace karmad {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

/// The part of the address that identifies a client.
IpAddress who(const IpAddress& address) {
  return address.is_v4() ? address : IpAddress{address.high, 0};
}

}  // namespace

/// Clients in order of their last request, as a linked list in a fixed array, with hash chains.
class alignas(64) ClientRates::Part {
 public:
  void change(const BucketRule& rule, std::size_t room, TimePoint now) {
    const std::lock_guard lock(mutex_);
    const auto at = in_micros(now);
    auto before = std::exchange(clients_, {});
    const auto old = std::exchange(rule_, rule);
    const auto last = std::exchange(oldest_, kNobody);
    room_ = rule.limits() ? room : 0;
    newest_ = kNobody;
    chains_.assign(std::bit_ceil(room_ + 1), kNobody);
    clients_.reserve(room_);
    if (room_ == 0) return;
    for (auto i = last; i != kNobody; i = before[i].newer) {
      auto& client = client_of(before[i].address, before[i].hash);
      client.empty_at = rule.empty_at(old.balance(before[i].empty_at, at), at);
    }
  }

  std::optional<Micros> take(const IpAddress& address, std::uint64_t hash, TimePoint now) {
    const auto at = in_micros(now);
    const std::lock_guard lock(mutex_);
    if (room_ == 0) return std::nullopt;
    auto& client = client_of(address, hash);
    const auto after = rule_.after(client.empty_at, 1, at);
    if (!rule_.has_tokens(after, at)) {
      ++counts_.rejected;
      return as_long_as(after - at);
    }
    client.empty_at = after;
    ++counts_.successful;
    return std::nullopt;
  }

  std::optional<Micros> wait(const IpAddress& address, std::uint64_t hash, TimePoint now) {
    const auto at = in_micros(now);
    const std::lock_guard lock(mutex_);
    if (room_ == 0) return std::nullopt;
    auto i = chain(hash);
    while (i != kNobody && clients_[i].address != address) i = clients_[i].next;
    if (i == kNobody) return std::nullopt;
    const auto after = rule_.after(clients_[i].empty_at, 1, at);
    return rule_.has_tokens(after, at) ? std::nullopt : std::optional(as_long_as(after - at));
  }

  void add_to(ClientCounts& sum) {
    const std::lock_guard lock(mutex_);
    sum.successful += counts_.successful;
    sum.rejected += counts_.rejected;
    sum.forgotten += counts_.forgotten;
    sum.remembered += clients_.size();
  }

 private:
  struct Client {
    IpAddress address;
    std::uint64_t hash;
    double empty_at;
    std::uint32_t newer;
    std::uint32_t older;
    std::uint32_t next;  // in its chain
  };

  /// The client, moved to the newest position; replaces the oldest one if there is no room.
  Client& client_of(const IpAddress& address, std::uint64_t hash) {
    auto i = chain(hash);
    while (i != kNobody && clients_[i].address != address) i = clients_[i].next;
    if (i != kNobody) {
      unlink(i);
    } else if (clients_.size() < room_) {
      i = static_cast<std::uint32_t>(clients_.size());
      clients_.emplace_back();
      begin(i, address, hash);
    } else {
      i = oldest_;
      unlink(i);
      leave_chain(i);
      begin(i, address, hash);
      ++counts_.forgotten;
    }
    link(i);
    return clients_[i];
  }

  std::uint32_t& chain(std::uint64_t hash) { return chains_[hash & (chains_.size() - 1)]; }

  void begin(std::uint32_t i, const IpAddress& address, std::uint64_t hash) {
    clients_[i] = {.address = address,
                   .hash = hash,
                   .empty_at = BucketRule::kAlwaysFull,
                   .newer = kNobody,
                   .older = kNobody,
                   .next = std::exchange(chain(hash), i)};
  }
  void leave_chain(std::uint32_t i) {
    auto* link = &chain(clients_[i].hash);
    while (*link != i) link = &clients_[*link].next;
    *link = clients_[i].next;
  }
  void link(std::uint32_t i) {
    clients_[i].newer = kNobody;
    clients_[i].older = std::exchange(newest_, i);
    (clients_[i].older == kNobody ? oldest_ : clients_[clients_[i].older].newer) = i;
  }
  void unlink(std::uint32_t i) {
    const auto& client = clients_[i];
    (client.newer == kNobody ? newest_ : clients_[client.newer].older) = client.older;
    (client.older == kNobody ? oldest_ : clients_[client.older].newer) = client.newer;
  }

  std::mutex mutex_;
  BucketRule rule_;
  std::size_t room_ = 0;
  std::vector<Client> clients_;
  std::vector<std::uint32_t> chains_;
  std::uint32_t newest_ = kNobody;
  std::uint32_t oldest_ = kNobody;
  ClientCounts counts_;
};

ClientRates::ClientRates() : ClientRates(std::random_device{}()) {}
ClientRates::ClientRates(std::uint64_t seed) : seed_(seed), parts_(new Part[kParts]) {}
ClientRates::~ClientRates() = default;

std::span<ClientRates::Part> ClientRates::parts() const {
  return {parts_.get(), kParts};
}

void ClientRates::change(const BucketRule& rule, std::size_t remembered, TimePoint now) {
  const auto used = std::clamp<std::size_t>(remembered / kWorthAPart, 1, kParts);
  // With another number of parts, clients would be searched in the wrong part.
  if (used != parts_used_.load(std::memory_order_relaxed))
    for (auto& part : parts()) part.change({}, 0, now);
  parts_used_.store(used, std::memory_order_relaxed);
  for (std::size_t i = 0; i < used; ++i)
    parts_[i].change(rule, (remembered + used - 1 - i) / used, now);
}

std::optional<Micros> ClientRates::take(const IpAddress& client, TimePoint now) {
  const auto address = who(client);
  const auto hash = splitmix64(splitmix64(address.high ^ seed_) ^ address.low);
  const auto used = parts_used_.load(std::memory_order_relaxed);
  return parts_[(hash >> 32) % used].take(address, hash, now);
}

std::optional<Micros> ClientRates::wait(const IpAddress& client, TimePoint now) {
  const auto address = who(client);
  const auto hash = splitmix64(splitmix64(address.high ^ seed_) ^ address.low);
  const auto used = parts_used_.load(std::memory_order_relaxed);
  return parts_[(hash >> 32) % used].wait(address, hash, now);
}

ClientCounts ClientRates::counts() const {
  ClientCounts sum;
  for (auto& part : parts()) part.add_to(sum);
  return sum;
}

void write(StatsWriter& out, const ClientCounts& counts) {
  out.add("client_rate_attempted", "requests checked against client_request_rate",
          "attemptedAdmissions", counts.successful + counts.rejected);
  out.add("client_rate_successful", "requests admitted by client_request_rate",
          "successfulAdmissions", counts.successful);
  out.add("client_rate_rejected", "requests refused because of client_request_rate",
          "rejectedAdmissions", counts.rejected);
  out.add("client_rate_exempted", "requests exempt from client_request_rate", "exemptedAdmissions",
          counts.exempted);
  out.add("client_rate_remembered", "clients whose requests are counted now", "remembered",
          counts.remembered, StatKind::gauge);
  out.add("client_rate_forgotten",
          "clients forgotten because client_request_remembered was reached", "forgotten",
          counts.forgotten);
}

BucketRule rule_of(const Rate& rate, Micros burst) {
  if (!rate.limits()) return {};
  const auto seconds = [](Micros time) { return static_cast<double>(time.count()) / 1e6; };
  return BucketRule::of(rate.count / seconds(rate.per), seconds(burst));
}

void RateGates::adopt(const RateSettings& settings, TimePoint now) {
  connections.change(
      rule_of(settings.ingress_connection_rate.value, settings.ingress_connection_burst.value),
      settings.ingress_connection_queue.value, now);
  requests.change(
      rule_of(settings.ingress_request_rate.value, settings.ingress_request_burst.value), 0, now);
  const auto& rate = settings.client_request_rate.value;
  const auto burst = settings.client_request_burst.value;
  const auto room = settings.client_request_remembered.value;
  if (rate == client_rate_ && burst == client_burst_ && room == client_room_) return;
  client_rate_ = rate;
  client_burst_ = burst;
  client_room_ = room;
  clients.change(rule_of(rate, burst), room, now);
}

}  // namespace karmad
