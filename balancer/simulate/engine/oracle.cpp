#include "balancer/simulate/engine/oracle.hpp"

#include <limits>

namespace karmad {

Oracle::Oracle(SimulatedWorld& world)
    : world_(world),
      random_(random_stream(world.seed, RandomStream::oracle, 0)),
      client_timeout_(std::llround(world.scenario.timeout * 1000)) {}

void Oracle::request_arrives(unsigned /*master*/, unsigned set) {
  const auto index = requests_.take();
  auto& request = requests_[index];
  request.arrived = world_.now;
  request.set = set;
  request.attempts = 0;
  request.mirror = kNone;
  world_.events.add_after(
      world_.now, client_timeout_,
      {.subject = index, .version = request.version, .kind = EventKind::client_gives_up});
  send(index);
}

/// Among equals it draws: otherwise the first mirror of an idle set would get all requests.
unsigned Oracle::best(unsigned set) {
  auto shortest = std::numeric_limits<double>::infinity();
  unsigned best = kNone;
  unsigned equals = 0;
  for (auto i = world_.layout.first(set); i < world_.layout.first(set + 1); ++i) {
    const auto expected = world_.fleet.expected_micros(i, world_.fleet.load(i), world_.now);
    if (expected > shortest || expected == std::numeric_limits<double>::infinity()) continue;
    if (expected < shortest) equals = 0;
    shortest = expected;
    if (random_.below(++equals) == 0) best = i;
  }
  return best;
}

/// Even the shortest queue is so long that the answer would hardly count.
bool Oracle::is_too_late(unsigned mirror) const {
  const auto& fleet = world_.fleet;
  const auto queueing = fleet.expected_micros(mirror, fleet.load(mirror), world_.now) -
                        fleet.expected_micros(mirror, 0, world_.now);
  return queueing > world_.scenario.slo * 1000 / 2;
}

void Oracle::send(std::uint32_t index) {
  auto& request = requests_[index];
  const auto mirror = best(request.set);
  if (mirror == kNone || is_too_late(mirror) || request.attempts > world_.layout.size(request.set))
    return end(index, false);
  const auto reason = request.attempts++ == 0 ? Recorder::Reason::initial : Recorder::Reason::retry;
  request.mirror = mirror;
  world_.recorder.attempt_sent(mirror, reason, world_.now);
  world_.fleet.send({index, ++request.attempt}, mirror, world_.now);
}

void Oracle::end_attempt(Request& request) {
  if (request.mirror == kNone) return;
  world_.recorder.attempt_ended(request.mirror);
  request.mirror = kNone;
}

void Oracle::end(std::uint32_t index, bool answered) {
  auto& request = requests_[index];
  end_attempt(request);
  ++request.attempt;
  world_.recorder.request_ended(request.arrived, answered, world_.now);
  requests_.give_back(index);
}

void Oracle::handle(const SimulatedEvent& event) {
  auto& request = requests_[event.subject];
  if (event.kind == EventKind::client_gives_up) {
    if (request.version == event.version) end(event.subject, false);
    return;
  }
  if (event.kind != EventKind::reply_arrives || request.attempt != event.version) return;
  if (MirrorReply::unpack(event.detail).kind == MirrorReply::Kind::answer)
    return end(event.subject, true);
  end_attempt(request);
  send(event.subject);
}

void Oracle::mirror_changed(unsigned mirror, bool /*reset*/) {
  if (world_.fleet.answers(mirror)) return;
  for (std::uint32_t index = 0; index < requests_.size(); ++index) {
    if (requests_[index].mirror != mirror) continue;
    end_attempt(requests_[index]);
    send(index);
  }
}

}  // namespace karmad
