/* A function with a stack of its own, which can leave in its middle and goes on from there: what the
 * schedulers of C simulation run (ming_fibres.h, ming_cosim.h). AddressSanitizer is told of each
 * change of stacks, since it takes a jump to an unknown one for an overflow.
 * Tested through its users. */
#ifndef MING_COROUTINE_H
#define MING_COROUTINE_H

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define MING_TELL_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MING_TELL_SANITIZER 1
#endif
#endif
#ifdef MING_TELL_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace csim {

class Coroutine {
public:
    explicit Coroutine(std::function<void()> body) : body_(std::move(body)) {}
    Coroutine(const Coroutine &) = delete;
    Coroutine &operator=(const Coroutine &) = delete;

    bool is_done() const { return is_done_; }

    /* Runs it until it leaves or ends; throws what it threw. */
    void resume()
    {
        if (!stack_)
            start();
        entered() = this;
        announce(&outer_fake_, stack_.get(), STACK_BYTES);
        swapcontext(&outer_, &own_);
        arrive(outer_fake_, nullptr, nullptr);
        if (failure_)
            std::rethrow_exception(std::exchange(failure_, nullptr));
    }

    /* Within it: back to who resumed it, until it is resumed again. */
    void leave()
    {
        announce(&own_fake_, outer_stack_, outer_bytes_);
        swapcontext(&own_, &outer_);
        arrive(own_fake_, &outer_stack_, &outer_bytes_);
    }

private:
    static constexpr std::size_t STACK_BYTES = std::size_t(1) << 21;

    /* Whose body begins; makecontext passes no pointers. */
    static Coroutine *&entered()
    {
        static thread_local Coroutine *one = nullptr;
        return one;
    }

    void start()
    {
        stack_.reset(new char[STACK_BYTES]);
        getcontext(&own_);
        own_.uc_stack.ss_sp = stack_.get();
        own_.uc_stack.ss_size = STACK_BYTES;
        own_.uc_link = &outer_;
        makecontext(&own_, &Coroutine::enter, 0);
    }

    static void enter()
    {
        Coroutine *self = entered();
        arrive(nullptr, &self->outer_stack_, &self->outer_bytes_);
        try {
            self->body_();
        } catch (...) {
            self->failure_ = std::current_exception();
        }
        self->is_done_ = true;
        announce(nullptr, self->outer_stack_, self->outer_bytes_);
    }

#ifdef MING_TELL_SANITIZER
    /* The stack that runs next; fake: keeps what belongs to the one left, NULL where that has ended. */
    static void announce(void **fake, const void *stack, std::size_t bytes)
    {
        __sanitizer_start_switch_fiber(fake, stack, bytes);
    }
    static void arrive(void *fake, const void **left, std::size_t *bytes)
    {
        __sanitizer_finish_switch_fiber(fake, left, bytes);
    }
#else
    static void announce(void **, const void *, std::size_t) {}
    static void arrive(void *, const void **, std::size_t *) {}
#endif

    std::function<void()> body_;
    std::unique_ptr<char[]> stack_;
    ucontext_t own_, outer_;
    const void *outer_stack_ = nullptr; /* whose it was when this one was entered */
    std::size_t outer_bytes_ = 0;
    void *own_fake_ = nullptr, *outer_fake_ = nullptr; /* AddressSanitizer's frames */
    std::exception_ptr failure_;
    bool is_done_ = false;
};

} // namespace csim

#endif
