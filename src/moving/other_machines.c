// The static libcapstone would link the decoders of all machines, five megabytes, because a table names these
// functions. No decoder but that of x86 is opened here.
#define NO_DECODER(machine)                                             \
  int machine##_global_init(void* handle);                              \
  int machine##_option(void* handle, int, unsigned long);               \
  int machine##_global_init(void* handle) {                             \
    (void)handle;                                                       \
    return 1;                                                           \
  }                                                                     \
  int machine##_option(void* handle, int option, unsigned long value) { \
    (void)handle, (void)option, (void)value;                            \
    return 1;                                                           \
  }

NO_DECODER(AArch64)
NO_DECODER(ARM)
NO_DECODER(EVM)
NO_DECODER(M680X)
NO_DECODER(M68K)
NO_DECODER(Mips)
NO_DECODER(PPC)
NO_DECODER(Sparc)
NO_DECODER(SystemZ)
NO_DECODER(TMS320C64x)
NO_DECODER(XCore)
