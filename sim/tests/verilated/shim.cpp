// The C interface of the grid that is linked into the test. Ports are numbered as arch::rtl::Rtl::grid_ports lists them.

#include <cstdint>

#include "Vgrid.h"

// The crate `verilated` compiles Verilator's runtime, but not this part of it, which Verilator 5 needs.
#include "verilated_threads.cpp"

extern "C" {

Vgrid* grid_new() { return new Vgrid; }

void grid_delete(Vgrid* grid) {
    grid->final();
    delete grid;
}

void grid_eval(Vgrid* grid) { grid->eval(); }

void grid_set(Vgrid* grid, uint32_t port, uint32_t value) {
    switch (port) {
    case 0: grid->clock = value; break;
    case 1: grid->reset = value; break;
    case 2: grid->control_write = value; break;
    case 3: grid->control_address = value; break;
    case 4: grid->control_data = value; break;
    case 6: grid->in_data = value; break;
    case 7: grid->in_valid = value; break;
    case 11: grid->out_ready = value; break;
    }
}

uint32_t grid_get(Vgrid* grid, uint32_t port) {
    switch (port) {
    case 5: return grid->control_read;
    case 8: return grid->in_ready;
    case 9: return grid->out_data;
    case 10: return grid->out_valid;
    }
    return 0;
}
}
