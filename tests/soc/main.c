/* Trains on the accelerator, from the memory of the SoC, predicts with the C driver, and tells what comes out. `measure soc` writes case.h:

       program           lines of microcode.hex
       input             of the first run, as words of the stream: the model, and the steps of an epoch
       STEPS, EPOCHS, MODEL_WORDS, STEPS_WORDS, OUTPUT_WORDS
       weights, rows     of the trained model, and what it predicts: real numbers for the driver
       ROWS, INPUTS */
#include "case.h"
#include "tabla_litex.h"
#include "tabla_predict.h"

__asm__(".section .start, \"ax\"\n"
        ".global _start\n"
        "_start:\n"
        "    la sp, _stack\n"
        "    la a0, _bss\n"
        "    la a1, _end\n"
        "1:  bgeu a0, a1, 2f\n"
        "    sw zero, 0(a0)\n"
        "    addi a0, a0, 4\n"
        "    j 1b\n"
        "2:  call main\n"
        "3:  j 3b\n"
        ".text\n");

/* What the CPU polls, so that a run that hangs is ended. */
#define PATIENCE 100000

static word_t output[(OUTPUT_WORDS + 1) & ~1] __attribute__((aligned(4)));

static void put(char c)
{
    while (uart_txfull_read());
    uart_rxtx_write(c);
}

static void say(const char *text)
{
    while (*text) put(*text++);
}

static void say_hex(uint32_t value)
{
    for (int shift = 28; shift >= 0; shift -= 4) put("0123456789abcdef"[value >> shift & 15]);
}

/* A line: what it is about, and a number. */
static void tell(const char *what, uint32_t value)
{
    say(what);
    put(' ');
    say_hex(value);
    put('\n');
}

static void tell_output(const char *what)
{
    for (unsigned n = 0; n < OUTPUT_WORDS; n++) tell(what, (uint16_t)output[n]);
}

/* All epochs; the last one gives the model. */
static uint32_t train(void)
{
    uint32_t cause = 0;
    for (unsigned epoch = 0; epoch < EPOCHS && cause == 0; epoch++) {
        int first = epoch == 0, last = epoch == EPOCHS - 1;
        const word_t *words = first ? input : input + MODEL_WORDS;
        uint32_t count = STEPS_WORDS + (first ? MODEL_WORDS : 0);
        cause = tabla_run(STEPS, first, last, words, count, output, last ? OUTPUT_WORDS : 0);
    }
    return cause;
}

/* The driver on real numbers; a prediction is told as the bits of the float. */
static void predict(void)
{
    union {
        float value;
        uint32_t bits;
    } h;

    tell("driver", tabla_predict_load());
    tell("unset", tabla_predict(rows[0], &h.value));
    tell("model", tabla_predict_model(weights));
    for (unsigned n = 0; n < ROWS; n++) {
        uint32_t cause = tabla_predict(rows[n], &h.value);
        if (cause != 0) tell("stopped", cause);
        tell("predicted", h.bits);
    }
    tell("clipped", (uint32_t)tabla_predict_clipped());
}

int main(void)
{
    tell("there", tabla_is_there(TABLA));
    /* A start before loading is refused. */
    tell("not_loaded", tabla_run(1, 0, 0, input, 0, output, 0));
    tabla_load(TABLA, program, sizeof program / sizeof *program);
    tabla_set(TABLA, TABLA_WATCHDOG, PATIENCE);
    tell("trained", train());
    tell("cycles", (uint32_t)tabla_cycles(TABLA));
    tell_output("first");
    /* Half an input: the watchdog ends the run, and the next one is as good as the first. */
    for (unsigned n = 0; n < OUTPUT_WORDS; n++) output[n] = 0;
    tell("half", tabla_run(STEPS, 1, 1, input, STEPS_WORDS / 2 / TABLA_TRANSFER_WORDS * TABLA_TRANSFER_WORDS, output, OUTPUT_WORDS));
    tell("again", train());
    tell_output("second");
    tell("status", tabla_get(TABLA, TABLA_STATUS) & (TABLA_STATUS_INPUT | TABLA_STATUS_OUTPUT_WAITS));
    predict();
    say("end\n");
    while (!uart_txempty_read());
    end_now_write(1);
    return 0;
}
