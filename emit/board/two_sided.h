/* A buffer of XRT where there is no card. It has two sides, the host's and the card's, so that what is not
 * synchronized is found. Tested by test/e2e/board_check.py and emulate_check.py. */
#ifndef MING_TWO_SIDED_H
#define MING_TWO_SIDED_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace ming {

/* Directions are an enum of XRT or one like it. */
template <typename Direction, Direction to_device> class TwoSidedBuffer {
public:
    template <typename Device>
    TwoSidedBuffer(const Device &, std::size_t size, int)
        : host_(std::make_shared<std::vector<std::uint8_t>>(size, std::uint8_t{0xA5})),
          card_(std::make_shared<std::vector<std::uint8_t>>(size, std::uint8_t{0x5A}))
    {
    }

    std::size_t size() const { return host_->size(); }

    template <typename Pointer> Pointer map() { return reinterpret_cast<Pointer>(host_->data()); }

    void sync(Direction direction, std::size_t size, std::size_t offset)
    {
        if (offset > host_->size() || size > host_->size() - offset)
            throw std::runtime_error("a buffer is synchronized beyond its end");
        const bool there = direction == to_device;
        std::memcpy((there ? card_ : host_)->data() + offset, (there ? host_ : card_)->data() + offset, size);
    }

    std::uint8_t *memory() const { return card_->data(); }

private:
    std::shared_ptr<std::vector<std::uint8_t>> host_, card_;
};

} // namespace ming

#endif
