/* Adapters between streams of words and the UDP core of a network, as Vitis HLS
 * makes kernels of them: each function is a step that takes a cycle, of a kernel
 * that runs by itself.
 *
 *   udp     words ─▶ udp_send ─▶ network ═▶ network ─▶ udp_receive ─▶ FIFO ─▶ words
 *   credit  words ─▶ credit_send ─▶ … ═▶ … ─▶ credit_receive ─▶ FIFO ─▶ credit_count ─▶ words
 *                        ▲                          reports │             │ words that were taken
 *                        └────────── … ◀═ … ◀─────── credit_answer ◀──────┘
 *
 * A packet is a beat that says what follows (Head), and beats of 64 bytes of words:
 * words share beats, or take several. A network gives packets whole or not at all.
 *
 *   udp     A receiver that misses a packet gives no word from then on, and keeps
 *           the number of the packet. The FIFO never has to hold back what comes.
 *   credit  A sender has as many words on their way as the receiver has room for,
 *           and keeps them until they have come. A receiver takes packets in their
 *           order, tells which one it waits for, and what was taken from its FIFO;
 *           a sender that hears of a packet that is missing, or nothing, begins
 *           again with that one. `turn` counts these, so that each is counted once.
 *
 * Tested by test/e2e/emulate_check.py. */
#ifndef MING_ADAPTER_H
#define MING_ADAPTER_H

#include <ap_axi_sdata.h>
#include <ap_int.h>
#include <hls_stream.h>
#include <hls_vector.h>

#if !defined(__SYNTHESIS__)
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif

namespace ming {
namespace adapter {

constexpr int BEAT_BITS = 512;
typedef ap_axiu<BEAT_BITS, 1, 1, 16> Beat;
typedef ap_uint<32> Count; /* wraps */

/* --- bits of words ----------------------------------------------------------- */

template <class Word>
struct Bits;

template <int N>
struct Bits<ap_uint<N>> {
    static constexpr int COUNT = N;
    static ap_uint<N> get(const ap_uint<N> &word) { return word; }
    static ap_uint<N> put(const ap_uint<N> &bits) { return bits; }
};

template <int N>
struct Bits<ap_int<N>> {
    static constexpr int COUNT = N;
    static ap_uint<N> get(const ap_int<N> &word) { return ap_uint<N>(word); }
    static ap_int<N> put(const ap_uint<N> &bits) { return ap_int<N>(bits); }
};

template <class Float, class Integer>
struct FloatBits {
    static constexpr int COUNT = 8 * sizeof(Float);
    union Both {
        Float number;
        Integer bits;
    };
    static ap_uint<COUNT> get(Float word)
    {
        Both both;
        both.number = word;
        return both.bits;
    }
    static Float put(const ap_uint<COUNT> &bits)
    {
        Both both;
        both.bits = static_cast<Integer>(bits);
        return both.number;
    }
};
template <>
struct Bits<float> : FloatBits<float, unsigned int> {};
template <>
struct Bits<double> : FloatBits<double, unsigned long long> {};

template <class T, size_t LANES>
struct Bits<hls::vector<T, LANES>> {
    static constexpr int LANE = Bits<T>::COUNT;
    static constexpr int COUNT = static_cast<int>(LANES) * LANE;
    static ap_uint<COUNT> get(const hls::vector<T, LANES> &word)
    {
        ap_uint<COUNT> bits = 0;
        for (int i = 0; i < static_cast<int>(LANES); i++) {
#pragma HLS unroll
            bits.range(i * LANE + LANE - 1, i * LANE) = Bits<T>::get(word[static_cast<size_t>(i)]);
        }
        return bits;
    }
    static hls::vector<T, LANES> put(const ap_uint<COUNT> &bits)
    {
        hls::vector<T, LANES> word;
        for (int i = 0; i < static_cast<int>(LANES); i++) {
#pragma HLS unroll
            word[static_cast<size_t>(i)] = Bits<T>::put(ap_uint<LANE>(bits.range(i * LANE + LANE - 1, i * LANE)));
        }
        return word;
    }
};

/* How words lie in beats. */
template <class Word>
struct Shape {
    static constexpr int BITS = Bits<Word>::COUNT;
    static constexpr int SLOT = (BITS + 7) / 8 * 8;                           /* of a word in a beat */
    static constexpr int WORDS = SLOT > BEAT_BITS ? 1 : BEAT_BITS / SLOT;     /* of a beat */
    static constexpr int BEATS = (SLOT + BEAT_BITS - 1) / BEAT_BITS;          /* of a word */
    static constexpr int ALL = BEATS * BEAT_BITS;
};

/* --- packets ------------------------------------------------------------------ */

enum Kind { DATA = 1, ANSWER = 2 };

/* Of a packet: numbers of it, of its first word and of it in its frame, all from 0, and its words.
 * Of an answer: these of what is waited for; whether it is missing; words taken from the FIFO. */
struct Head {
    ap_uint<16> kind, link, words;
    Count packet, first, place, turn, taken;
    bool is_missing;
};

constexpr unsigned int MAGIC = 0x474e494d; /* "MING" */

inline Beat beat_with(const ap_uint<BEAT_BITS> &data, int socket, bool is_last)
{
    Beat beat;
    beat.data = data;
    beat.keep = ~ap_uint<BEAT_BITS / 8>(0);
    beat.strb = beat.keep;
    beat.user = 0;
    beat.id = 0;
    beat.dest = socket;
    beat.last = is_last ? 1 : 0;
    return beat;
}

inline Beat beat_of(const Head &head, int socket)
{
    ap_uint<BEAT_BITS> data = 0;
    data.range(31, 0) = MAGIC;
    data.range(47, 32) = head.kind;
    data.range(63, 48) = head.link;
    data.range(95, 64) = head.packet;
    data.range(127, 96) = head.first;
    data.range(159, 128) = head.place;
    data.range(175, 160) = head.words;
    data.range(207, 176) = head.turn;
    data.range(239, 208) = head.taken;
    data.range(240, 240) = head.is_missing ? 1 : 0;
    return beat_with(data, socket, head.kind == ANSWER);
}

/* False: it is another's. */
inline bool head_of(const Beat &beat, Kind kind, int link, Head &head)
{
    head.kind = beat.data.range(47, 32);
    head.link = beat.data.range(63, 48);
    head.packet = beat.data.range(95, 64);
    head.first = beat.data.range(127, 96);
    head.place = beat.data.range(159, 128);
    head.words = beat.data.range(175, 160);
    head.turn = beat.data.range(207, 176);
    head.taken = beat.data.range(239, 208);
    head.is_missing = beat.data.range(240, 240) != 0;
    return beat.data.range(31, 0) == MAGIC && head.kind == kind && head.link == link;
}

/* How far a counter is ahead of another one, which it has passed. */
inline Count ahead(const Count &of, const Count &other)
{
    return Count(of - other);
}
inline bool is_behind(const Count &of, const Count &other)
{
    return ahead(of, other)[31];
}

/* Words that become beats; those of a word of several beats go out one by one. */
template <class Word>
struct Packer {
    typedef Shape<Word> S;
    ap_uint<S::ALL> data;
    int filled, waiting; /* words of the beat; beats to be sent */
    bool is_last;

    bool is_free() const { return waiting == 0; }

    void take(const ap_uint<S::BITS> &bits, bool ends)
    {
        if (filled == 0)
            data = 0;
        for (int i = 0; i < S::WORDS; i++) {
#pragma HLS unroll
            if (filled == i)
                data.range(i * S::SLOT + S::BITS - 1, i * S::SLOT) = bits;
        }
        filled++;
        if (filled < S::WORDS && !ends)
            return;
        filled = 0;
        waiting = S::BEATS;
        is_last = ends;
    }

    Beat give(int socket)
    {
        const Beat beat = beat_with(data.range(BEAT_BITS - 1, 0), socket, is_last && waiting == 1);
        data = data >> (S::BEATS > 1 ? BEAT_BITS : 0);
        waiting--;
        return beat;
    }
};

/* Beats that become words: those behind the heads of packets that are taken. */
template <class Word>
struct Unpacker {
    typedef Shape<Word> S;
    ap_uint<S::ALL> data;
    int beats, words, left;   /* that are there; words of the packet that are to be given */
    bool is_inside, is_taken; /* of a packet */

    bool is_free() const { return words == 0; }

    /* False: it is a head, of which begin() is to be told. */
    bool take(const Beat &beat)
    {
        if (!is_inside)
            return false;
        is_inside = !beat.last;
        if (!is_taken)
            return true;
        for (int i = 0; i < S::BEATS; i++) {
#pragma HLS unroll
            if (beats == i)
                data.range(i * BEAT_BITS + BEAT_BITS - 1, i * BEAT_BITS) = beat.data;
        }
        beats = beats + 1 < S::BEATS ? beats + 1 : 0;
        if (beats == 0)
            words = left < S::WORDS ? left : S::WORDS;
        return true;
    }

    void begin(const Beat &head, bool takes, int count)
    {
        is_inside = !head.last;
        is_taken = takes;
        left = count;
    }

    void give(hls::stream<Word> &out)
    {
        if (words == 0)
            return;
        const ap_uint<S::BITS> bits = data.range(S::BITS - 1, 0);
        data = data >> (S::WORDS > 1 ? S::SLOT : 0);
        words--;
        left--;
        out.write(Bits<Word>::put(bits));
    }
};

/* Words of the next packet: the first one of a frame has the rest. */
template <int WORDS, int PACKET>
int packet_words(const Count &place)
{
    return place == 0 && WORDS % PACKET > 0 ? WORDS % PACKET : PACKET;
}
template <int WORDS, int PACKET>
Count next_place(const Count &place)
{
    return place == (WORDS + PACKET - 1) / PACKET - 1 ? Count(0) : Count(place + 1);
}

/* Of the branches of a merge, the next one that has something. */
template <size_t N>
int next_ready(const bool (&ready)[N], int at)
{
    const int count = static_cast<int>(N);
    int next = at;
    for (int i = count; i > 0; i--) {
#pragma HLS unroll
        const int other = at + i < count ? at + i : at + i - count;
        if (ready[other])
            next = other;
    }
    return next;
}

/* --- udp ---------------------------------------------------------------------- */

template <class Word, int LINK, int SOCKET, int WORDS, int PACKET>
void udp_send(hls::stream<Word> &in, hls::stream<Beat> &out)
{
    static Packer<Word> packer = {0, 0, 0, false};
    static int left = 0; /* words of the packet */
    static Count packet = 0, first = 0, place = 0;
    if (left == 0 && packer.is_free()) {
        if (in.empty())
            return;
        left = packet_words<WORDS, PACKET>(place);
        const Head head = {DATA, LINK, left, packet, first, place, 0, 0, false};
        out.write(beat_of(head, SOCKET));
        packet++;
        first += left;
        place = next_place<WORDS, PACKET>(place);
        return;
    }
    if (packer.is_free() && !in.empty()) {
        packer.take(Bits<Word>::get(in.read()), left == 1);
        left--;
    }
    if (!packer.is_free())
        out.write(packer.give(SOCKET));
}

/* missing: how many packets did not come before the first one that came out of turn; its own number
 * is `packet`, from when there are some. */
template <class Word, int LINK, int WORDS, int PACKET>
void udp_receive(hls::stream<Beat> &in, hls::stream<Word> &out, Count &missing, Count &packet)
{
    static Unpacker<Word> unpacker = {0, 0, 0, 0, false, false};
    static Count expected = 0, lost = 0;
    if (unpacker.is_free() && !in.empty()) {
        const Beat beat = in.read();
        if (!unpacker.take(beat)) {
            Head head;
            const bool is_own = head_of(beat, DATA, LINK, head) && lost == 0;
            if (is_own)
                lost = ahead(head.packet, expected);
            const bool is_taken = is_own && lost == 0;
            if (is_taken)
                expected++;
            unpacker.begin(beat, is_taken, head.words);
        }
    }
    unpacker.give(out);
    missing = lost;
    packet = expected;
}

/* --- credit ------------------------------------------------------------------- */

/* ROOM: words that the receiver can hold; KEPT: that are kept here, a power of two of at least as many;
 * PATIENCE: cycles without news after which everything is sent again. */
template <class Word, int LINK, int SOCKET, int WORDS, int PACKET, int ROOM, int KEPT, int PATIENCE>
void credit_send(hls::stream<Word> &in, hls::stream<Beat> &answers, hls::stream<Beat> &out, Count &again)
{
    enum { SETTLED = 4 }; /* cycles until a word can be read from the memory that it was written to */
    static ap_uint<Bits<Word>::COUNT> memory[KEPT];
#pragma HLS bind_storage variable = memory type = ram_s2p
#pragma HLS dependence variable = memory type = inter false
    static Packer<Word> packer = {0, 0, 0, false};
    static Count written = 0, settled[SETTLED] = {0, 0, 0, 0};
    static Count next = 0, packet = 0, place = 0;                /* to be sent */
    static Count come = 0, come_packet = 0, come_place = 0, taken = 0; /* as answers tell */
    static Count turn = 0, turns = 0, waited = 0;
    static bool is_missing = false;
    static int left = 0;
#pragma HLS array_partition variable = settled complete
    again = turns;
    if (!answers.empty()) {
        const Beat beat = answers.read();
        Head head;
        if (head_of(beat, ANSWER, LINK, head) && !is_behind(head.first, come)) {
            waited = head.first != come ? Count(0) : waited;
            come = head.first;
            come_packet = head.packet;
            come_place = head.place;
            if (!is_behind(head.taken, taken))
                taken = head.taken;
            is_missing |= head.is_missing && head.turn == turn;
        }
    }
    const Count ready = settled[SETTLED - 1];
    for (int i = SETTLED - 1; i > 0; i--) {
#pragma HLS unroll
        settled[i] = settled[i - 1];
    }
    if (ahead(written, come) < KEPT && !in.empty()) {
        memory[written % KEPT] = Bits<Word>::get(in.read());
        written++;
    }
    settled[0] = written;
    is_missing &= next != come;
    waited = next == come ? Count(0) : Count(waited + 1);
    if (left == 0 && packer.is_free()) {
        const int words = packet_words<WORDS, PACKET>(place);
        if (next != come && (is_missing || waited > PATIENCE)) {
            next = come;
            packet = come_packet;
            place = come_place;
            waited = 0;
            turn++;
            turns++;
            is_missing = false;
        } else if (is_behind(next, come)) { /* came in spite of what was thought */
            next = come;
            packet = come_packet;
            place = come_place;
        } else if (next != ready && !is_behind(ready, next) && ahead(Count(next + words), taken) <= ROOM) {
            const Head head = {DATA, LINK, words, packet, next, place, turn, 0, false};
            out.write(beat_of(head, SOCKET));
            left = words;
            packet++;
            place = next_place<WORDS, PACKET>(place);
        }
        return;
    }
    if (packer.is_free() && next != ready) {
        packer.take(memory[next % KEPT], left == 1);
        next++;
        left--;
    }
    if (!packer.is_free())
        out.write(packer.give(SOCKET));
}

/* What a receiver tells credit_answer: what it waits for, and whether that is missing. */
typedef ap_uint<32 * 4 + 1> Report;

inline Report report_of(const Head &head)
{
    Report report = 0;
    report.range(31, 0) = head.packet;
    report.range(63, 32) = head.first;
    report.range(95, 64) = head.place;
    report.range(127, 96) = head.turn;
    report.range(128, 128) = head.is_missing ? 1 : 0;
    return report;
}

/* lost: packets that did not come before others did. */
template <class Word, int LINK, int WORDS, int PACKET>
void credit_receive(hls::stream<Beat> &in, hls::stream<Word> &out, hls::stream<Report> &reports, Count &lost)
{
    static Unpacker<Word> unpacker = {0, 0, 0, 0, false, false};
    static bool is_known = false; /* the gap of this turn is */
    static Count packet = 0, first = 0, place = 0, turn = 0, gaps = 0;
    lost = gaps;
    if (unpacker.is_free() && !in.empty()) {
        const Beat beat = in.read();
        if (!unpacker.take(beat)) {
            Head head;
            const bool is_own = head_of(beat, DATA, LINK, head);
            if (is_own && head.turn != turn) {
                turn = head.turn;
                is_known = false;
            }
            const bool is_taken = is_own && head.packet == packet;
            const bool is_missing = is_own && !is_taken && !is_behind(head.packet, packet);
            if (is_missing && !is_known) {
                gaps += ahead(head.packet, packet);
                is_known = true;
            }
            if (is_taken) {
                packet++;
                first += head.words;
                place = next_place<WORDS, PACKET>(place);
            }
            const Head wanted = {ANSWER, LINK, 0, packet, first, place, turn, 0, is_missing};
            if (is_own)
                reports.write(report_of(wanted));
            unpacker.begin(beat, is_taken, head.words);
        }
    }
    unpacker.give(out);
}

/* Words that go on from the receiver's FIFO; tells of every CHUNK of them. */
template <class Word, int CHUNK>
void credit_count(hls::stream<Word> &in, hls::stream<Word> &out, hls::stream<ap_uint<16>> &taken)
{
    static int count = 0;
    if (in.empty())
        return;
    out.write(in.read());
    count++;
    if (count == CHUNK) {
        taken.write(CHUNK);
        count = 0;
    }
}

/* Answers, at most one in GAP cycles; the last one again and again after QUIET cycles, since it may be lost. */
template <int LINK, int SOCKET, int GAP, int QUIET>
void credit_answer(hls::stream<Report> &reports, hls::stream<ap_uint<16>> &taken, hls::stream<Beat> &out)
{
    static Report report = 0;
    static Count words = 0, since = 0;
    static bool has_news = false;
    if (!reports.empty()) {
        report = reports.read();
        has_news = true;
    }
    if (!taken.empty()) {
        words += taken.read();
        has_news = true;
    }
    since++;
    if ((!has_news || since < GAP) && since < QUIET)
        return;
    const Head head = {ANSWER, LINK, 0, Count(report.range(31, 0)), Count(report.range(63, 32)),
                       Count(report.range(95, 64)), Count(report.range(127, 96)), words, report[128] != 0};
    out.write(beat_of(head, SOCKET));
    has_news = false;
    since = 0;
}

} // namespace adapter
} // namespace ming

#endif
