/* Runs the program's words in order. Addresses and registers change here; a command goes to its unit
 * with a copy of them, and waits while four of the unit's are in front of it. */
#include "engine.h"

/* The unit of a command. UNITS: it is none. */
static Unit unit_of(isa::Opcode opcode, word_t word)
{
    switch (opcode) {
    case isa::NOP:
        return Unit(int(isa::nop::unit(word)));
    case isa::LOAD_A:
        return UNIT_LOAD_A;
    case isa::LOAD_W:
    case isa::LOAD_P:
        return UNIT_LOAD_W;
    case isa::FILL:
        return UNIT_FILL;
    case isa::RUN:
        return UNIT_COMPUTE;
    case isa::STORE:
        return UNIT_STORE;
    default:
        return UNITS;
    }
}

/* Ports are wired to banks. */
static bool has_its_bank(isa::Opcode opcode, word_t word)
{
    switch (opcode) {
    case isa::LOAD_A:
    case isa::STORE:
        return isa::load_a::bank(word) == BANK_MAPS;
    case isa::LOAD_W:
        return isa::load_w::bank(word) == BANK_WEIGHTS;
    case isa::LOAD_P:
        return isa::load_p::bank(word) == BANK_PARAMETERS;
    default:
        return true;
    }
}

void fetch(const word_t *program, ap_uint<32> count, CommandStream to[UNITS], word_t pu_program[PU_WORDS],
           hls::stream<ap_uint<32>> &fault)
{
    Command next = {};
    ap_uint<32> found = fault_at(FAULT_NO_END, ap_uint<28>(count));
    bool is_over = false;

instructions:
    for (ap_uint<32> i = 0; i < count && !is_over; i++) {
#pragma HLS pipeline II = 1
        next.word = program[i];
        next.opcode = isa::opcode(next.word);
        const Unit unit = unit_of(next.opcode, next.word);
        Fault wrong = FAULT_NONE;
        if (next.opcode == isa::END) {
            is_over = true;
        } else if (next.opcode == isa::ADDR) {
            next.address[isa::addr::buffer(next.word)] = isa::addr::address(next.word);
        } else if (next.opcode == isa::SET) {
            if (!next.regs.set(isa::set::register_(next.word), isa::set::value(next.word)))
                wrong = FAULT_REGISTER;
        } else if (unit < UNITS) {
            if (has_its_bank(next.opcode, next.word))
                to[unit].write(next);
            else
                wrong = FAULT_BANK;
        } else if (next.opcode == isa::UNKNOWN) {
            wrong = FAULT_INSTRUCTION;
        } else if (next.regs.pu_pc < PU_WORDS) {
            pu_program[next.regs.pu_pc] = next.word;
            next.regs.pu_pc++;
        } else {
            wrong = FAULT_PU;
        }
        if (is_over || wrong != FAULT_NONE) {
            found = wrong == FAULT_NONE ? ap_uint<32>(0) : fault_at(wrong, ap_uint<28>(i + 1));
            is_over = true;
        }
    }

    next.opcode = isa::END;
ends:
    for (int unit = 0; unit < UNITS; unit++)
        to[unit].write(next);
    fault.write(found);
}
