/* Programs of the engine in C simulation, for the testbench and the emulation of the host: a file is
 * taken apart and must be of this engine, and is checked before it runs: what the hardware would leave
 * undefined outside of its memories is an error here. `ming engine` checks more. */
#ifndef ENGINE_PROGRAM_H
#define ENGINE_PROGRAM_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine.h"
#include "engine_files.h"

namespace engine_program {

typedef std::vector<unsigned char> Bytes;
typedef std::vector<beat_t> Beats;

constexpr int BEAT_BYTES = BEAT_BITS / 8, HEADER_WORDS = 10 + SIZE_WORDS, MAGIC_WORDS = 2;

/* Little-endian words. */
inline std::vector<word_t> to_words(const Bytes &bytes)
{
    std::vector<word_t> words(bytes.size() / 4);
    for (std::size_t i = 0; i < 4 * words.size(); i++)
        words[i / 4].range(8 * (i % 4) + 7, 8 * (i % 4)) = bytes[i];
    return words;
}

inline Beats to_beats(const Bytes &bytes)
{
    Beats beats((bytes.size() + BEAT_BYTES - 1) / BEAT_BYTES, beat_t(0));
    for (std::size_t i = 0; i < bytes.size(); i++)
        beats[i / BEAT_BYTES].range(8 * (i % BEAT_BYTES) + 7, 8 * (i % BEAT_BYTES)) = bytes[i];
    return beats;
}

/* The bytes of beats. */
inline Bytes to_bytes(const Beats &beats)
{
    Bytes bytes;
    bytes.reserve(beats.size() * BEAT_BYTES);
    for (const beat_t &beat : beats)
        for (int i = 0; i < BEAT_BYTES; i++)
            bytes.push_back(static_cast<unsigned char>(int(beat.range(8 * i + 7, 8 * i))));
    return bytes;
}

/* The instructions behind a header that names this engine. */
inline std::vector<word_t> read_program(const Bytes &bytes, const std::string &path)
{
    const std::vector<word_t> words = to_words(bytes);
    const std::string name = "'" + path + "' ";
    if (words.size() < HEADER_WORDS || bytes.size() % 4 != 0 || words[0] != MAGIC || words[1] != VERSION)
        throw std::runtime_error(name + "is no program of an overlay");
    for (int i = 0; i < FINGERPRINT_WORDS; i++)
        if (words[MAGIC_WORDS + i] != FINGERPRINT[i])
            throw std::runtime_error(name + "is for another engine than " + FINGERPRINT_TEXT + ": it has " +
                                     fingerprint_text(&words[MAGIC_WORDS], FINGERPRINT_WORDS) + ", not " +
                                     fingerprint_text(FINGERPRINT, FINGERPRINT_WORDS));
    const std::uint64_t name_words = (std::uint64_t(words[HEADER_WORDS - 2]) + 3) / 4;
    const std::uint64_t count = std::uint64_t(words[HEADER_WORDS - 1]);
    if (words.size() != HEADER_WORDS + name_words + count)
        throw std::runtime_error(name + "does not have the instructions that it says");
    return std::vector<word_t>(words.end() - static_cast<std::ptrdiff_t>(count), words.end());
}

/* What the fetch unit holds. */
struct Registers {
    isa::Registers regs = {};
    ap_uint<28> address[4] = {};
};

/* Whether runs of beats end within a bank, and what they hold within a buffer. */
inline bool fits(const Registers &w, const Beats &bank, int buffer, std::uint64_t first, std::uint64_t words,
                 int word_bits)
{
    const std::uint64_t rows = std::uint64_t(w.regs.rows), beats = std::uint64_t(w.regs.beats);
    const std::uint64_t behind =
        std::uint64_t(w.address[buffer]) + beats + (rows ? (rows - 1) * std::uint64_t(w.regs.row_stride) : 0);
    const std::uint64_t moved = rows * beats * BEAT_BITS / word_bits;
    return rows == 0 || (behind <= bank.size() && first + moved <= words);
}

inline bool fits_fill(const Registers &w)
{
    const std::uint64_t count = std::uint64_t(w.regs.fill_count);
    return std::uint64_t(w.regs.w_base) + count <= PE_WORDS &&
           std::uint64_t(w.regs.wb_base) + count * COLS <= W_WORDS;
}

inline bool command_fits(const Registers &w, isa::Opcode opcode, const Beats banks[3])
{
    const std::uint64_t pages = std::uint64_t(ACT_PAGES) * PAGE_WORDS;
    switch (opcode) {
    case isa::LOAD_A:
        return fits(w, banks[BANK_MAPS], isa::BUFFER_ACTIVATIONS,
                    std::uint64_t(word_at(w.regs.act_page, w.regs.act_base)), pages,
                    COLS * stored_bits(ACT_BITS));
    case isa::STORE:
        return fits(w, banks[BANK_MAPS], isa::BUFFER_OUTPUT,
                    std::uint64_t(word_at(w.regs.out_page, w.regs.out_base)), pages,
                    COLS * stored_bits(ACT_BITS));
    case isa::LOAD_W:
        return fits(w, banks[BANK_WEIGHTS], isa::BUFFER_WEIGHTS, std::uint64_t(w.regs.wb_base), W_WORDS,
                    ROWS * stored_bits(WEIGHT_BITS));
    case isa::LOAD_P:
        return fits(w, banks[BANK_PARAMETERS], isa::BUFFER_PARAMETERS, std::uint64_t(w.regs.p_base),
                    PARAM_WORDS, ROWS * PARAM_BITS);
    case isa::FILL:
        return fits_fill(w);
    default:
        return true;
    }
}

inline void check_program(const std::vector<word_t> &program, const Beats banks[3])
{
    Registers w;
    for (std::size_t i = 0; i < program.size(); i++) {
        const isa::Opcode opcode = isa::opcode(program[i]);
        if (opcode == isa::ADDR)
            w.address[isa::addr::buffer(program[i])] = isa::addr::address(program[i]);
        if (opcode == isa::SET && !w.regs.set(isa::set::register_(program[i]), isa::set::value(program[i])))
            throw std::runtime_error("instruction " + std::to_string(i + 1) + " sets no register");
        if (!command_fits(w, opcode, banks))
            throw std::runtime_error("instruction " + std::to_string(i + 1) +
                                     " goes beyond a bank or a buffer");
    }
}

inline const char *fault_text(int fault)
{
    static const char *const texts[] = {"no fault",
                                        "no instruction",
                                        "no register",
                                        "a bank that no port leads to",
                                        "more instructions than the processing unit holds",
                                        "no end behind the last instruction",
                                        "a semaphore that is not 0 at the end"};
    return texts[fault];
}

/* What port number `port` of the weights holds. */
inline Beats share_of(const Beats &beats, std::size_t port)
{
    Beats share;
    for (std::size_t i = port; i < beats.size(); i += WEIGHT_PORTS)
        share.push_back(beats[i]);
    return share;
}

/* The engine on banks, which hold what it leaves there; its status. */
inline ap_uint<32> call_engine(const std::vector<word_t> &program, Beats banks[3])
{
    ap_uint<32> status = 0;
    check_program(program, banks);
    Beats weights[WEIGHT_PORTS];
    for (std::size_t port = 0; port < WEIGHT_PORTS; port++)
        weights[port] = share_of(banks[BANK_WEIGHTS], port);
    engine(program.data(), ap_uint<32>(program.size()), banks[BANK_MAPS].data(), banks[BANK_MAPS].data(),
           weights[0].data(),
#if WEIGHT_PORTS > 1
           weights[1].data(),
#endif
#if WEIGHT_PORTS > 2
           weights[2].data(), weights[3].data(),
#endif
           banks[BANK_PARAMETERS].data(), &status);
    return status;
}

inline void run_engine(const std::vector<word_t> &program, Beats banks[3])
{
    const ap_uint<32> status = call_engine(program, banks);
    if (status != 0)
        throw std::runtime_error(std::string(fault_text(int(status >> 28))) + " at " +
                                 std::to_string(std::uint32_t(status) & 0xFFFFFFF));
}

} // namespace engine_program

#endif
