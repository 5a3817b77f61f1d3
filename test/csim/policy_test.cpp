/* The seam of hls_stream.h: a policy with bounded FIFOs that, instead of
 * switching to another process, makes room or data itself. */
#include <algorithm>
#include <cstddef>
#include <string>

struct Bounded {
    static std::size_t capacity(int depth)
    {
        return depth == 0 ? 2 : static_cast<std::size_t>(depth);
    }
    struct State {
        std::size_t fullest = 0;
    };
    static void on_empty(const std::string &name, State &state);
    static void on_full(const std::string &name, State &state);
    static void on_read(const std::string &, State &, std::size_t)
    {
        moves++;
    }
    static void on_write(const std::string &, State &state, std::size_t size)
    {
        moves++;
        state.fullest = std::max(state.fullest, size);
        fullest = std::max(fullest, state.fullest);
    }
    static int moves;
    static std::size_t fullest;
};

#define HLS_STREAM_POLICY Bounded
#include "hls_stream.h"

static hls::stream<int> two("two");
static hls::stream<int, 3> three("three");
static int waits = 0;
int Bounded::moves = 0;
std::size_t Bounded::fullest = 0;

void Bounded::on_empty(const std::string &name, State &)
{
    waits++;
    (name == "two" ? two : three).write(100);
}

void Bounded::on_full(const std::string &name, State &)
{
    waits++;
    (name == "two" ? two : three).read();
}

int main()
{
    for (int i = 0; i < 5; i++) {
        two << i;
        three << i;
    }
    bool ok =
        waits == 3 + 2 && two.full() && three.full() && three.capacity() == 3 && !three.write_nb(9);
    ok = ok && two.read() == 3 && two.read() == 4 && two.read() == 100 && waits == 6;
    for (int i = 2; i < 5; i++) ok = ok && three.read() == i;
    ok = ok && Bounded::fullest == 3 && Bounded::moves == 5 + 5 + 5 + 1 + 3 + 3;
    return !ok;
}
