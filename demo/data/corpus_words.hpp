#pragma once

#include <string_view>

namespace karmad {

// The words of the catalogue; earlier words of a list are used more often.

inline constexpr std::string_view kThings[] = {
    "lamp",     "chair",    "table",     "shelf",    "kettle",      "camera",  "bag",
    "knife",    "bottle",   "blanket",   "mirror",   "clock",       "basket",  "desk",
    "speaker",  "backpack", "notebook",  "cushion",  "tray",        "bowl",    "jacket",
    "tent",     "bench",    "cabinet",   "carpet",   "charger",     "coat",    "compass",
    "cup",      "curtain",  "drawer",    "fan",      "flask",       "fork",    "glove",
    "grinder",  "guitar",   "hammer",    "headlamp", "helmet",      "jar",     "keyboard",
    "ladder",   "lantern",  "lens",      "mug",      "oven",        "pan",     "pencil",
    "pillow",   "plate",    "projector", "radio",    "rug",         "saw",     "scarf",
    "scissors", "stool",    "suitcase",  "teapot",   "telescope",   "toaster", "tripod",
    "umbrella", "vase",     "wallet",    "watch",    "wheelbarrow", "whistle", "xylophone"};

inline constexpr std::string_view kQualities[] = {
    "small",    "light",      "sturdy",       "folding", "classic",   "blue",     "quiet",
    "warm",     "green",      "compact",      "large",   "simple",    "handmade", "red",
    "soft",     "bright",     "narrow",       "heavy",   "portable",  "grey",     "durable",
    "elegant",  "flat",       "round",        "robust",  "slim",      "tall",     "vintage",
    "washable", "waterproof", "wireless",     "yellow",  "ergonomic", "feather",  "matte",
    "opaque",   "rustproof",  "shatterproof", "tapered", "zinc"};

inline constexpr std::string_view kMaterials[] = {
    "steel",     "oak",    "cotton", "glass", "leather", "wool",  "bamboo",   "ceramic",
    "aluminium", "linen",  "beech",  "cork",  "copper",  "felt",  "walnut",   "brass",
    "canvas",    "marble", "silk",   "paper", "rattan",  "slate", "titanium", "velvet"};

inline constexpr std::string_view kPlaces[] = {
    "kitchen", "office", "garden",     "workshop", "bedroom",  "balcony",    "hall",
    "studio",  "cellar", "library",    "bath",     "camp",     "boat",       "garage",
    "nursery", "café",   "greenhouse", "attic",    "pavilion", "observatory"};

inline constexpr std::string_view kDeeds[] = {"keeps",  "holds",    "carries", "fits",   "covers",
                                              "lifts",  "cleans",   "cools",   "heats",  "cuts",
                                              "guards", "folds",    "hides",   "lights", "mends",
                                              "opens",  "polishes", "seals",   "stacks", "weighs"};

/// T thing, Q quality, M material, P place, D deed.
inline constexpr std::string_view kSentences[] = {
    "This Q T of M D every T in the P.",
    "A Q T for the P, made of M.",
    "It D the T and stays Q for years.",
    "The Q M T goes well with a Q T.",
    "Made for P and P; the T D what a T cannot.",
    "Our T is Q, the M is Q.",
    "Comes with a T [M, Q] and a Q T.",
    "Customers say: \"the T D my T\".",
    "Not for the P {unless Q}.",
    "The M D even a Q T; Größe und Maße in the P sheet.",
    "Care: keep the M out of the P \\ wipe with a Q T.",
};

inline constexpr std::string_view kBrands[] = {"Aurora",     "bluebird", "Cobalt",  "dovetail",
                                               "Elm & Sons", "fjord",    "Granite", "hazel",
                                               "Ironwood",   "juniper",  "Kestrel", "lumen"};

inline constexpr std::string_view kSellers[] = {
    "North Star", "north star", "NORTH STAR", "Harbour",    "harbour",
    "HARBOUR",    "Mill Lane",  "mill lane",  "Old Market", "old MARKET"};

inline constexpr std::string_view kColors[] = {"red", "blue",  "green", "grey",
                                               "Red", "amber", "black", "violet"};

inline constexpr unsigned kUsualPrices[] = {19, 9, 49, 99, 29, 199, 5, 149, 79, 249, 399, 499};

}  // namespace karmad
