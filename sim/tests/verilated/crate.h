// Included before the C++ of the crate `verilated` 0.1.2, which was made for Verilator 3 and 4, so that it compiles with Verilator 5.
#ifdef __cplusplus
#include <verilated.h>
#include <verilated_vcd_c.h>
using VerilatedVoidCb = void (*)();
#define flushCb(callback) runFlushCallbacks()
#define flushCall() runFlushCallbacks()
#define rolloverMB(megabytes) rolloverSize((megabytes) << 20)
#endif
