#include "balancer/rules/admission/rate_gates.hpp"

namespace karmad {

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
