/* Losses of packets, as the environment asks for them where links are simulated
 * (ming_card.h, ming_channel.h):
 *
 *   MING_LOSS  the share of packets that is lost; none if it is not set
 *   MING_SEED  others are lost for another one
 *
 * Tested by test/e2e/emulate_check.py and network_check.py. */
#ifndef MING_LOSS_H
#define MING_LOSS_H

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace ming {
namespace loss {

/* A number of the environment; 0 if it is not set. what: the numbers that it may be. */
inline double environment(const char *name, double most, bool is_whole, const char *what)
{
    const char *text = std::getenv(name);
    if (!text || !*text)
        return 0;
    char *end = nullptr;
    const double value = std::strtod(text, &end);
    if (*end || !(value >= 0) || value > most || (is_whole && std::floor(value) != value))
        throw std::runtime_error(std::string(name) + " is '" + text + "', but must be " + what);
    return value;
}

inline double rate()
{
    return environment("MING_LOSS", 0.99, false, "a number from 0 to 0.99");
}
inline std::uint64_t seed()
{
    return static_cast<std::uint64_t>(environment("MING_SEED", 4294967295.0, true, "an integer of 32 bits"));
}

/* splitmix64 (Steele, Lea, Flood 2014): the number behind a state. */
inline std::uint64_t mix(std::uint64_t state)
{
    std::uint64_t x = state + 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* Whether a packet is lost for which that number was drawn. */
inline bool hits(double rate, std::uint64_t number)
{
    return static_cast<double>(number >> 11) < rate * 9007199254740992.0; /* 2^53 */
}

} // namespace loss
} // namespace ming

#endif
