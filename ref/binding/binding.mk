# The engine without MPI, for python/zeroproof, which has a transport of its own: a library that
# needs no other one.
BINDING_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard ref/engine_mpi/*.c ref/binding/*.c) \
                ref/comm/no_mpi/comm_no_mpi.c)
BINDING_SHARED := $(BUILD)/libzeroproof_engine.so
$(BINDING_SHARED): $(BINDING_OBJ) $(LIB_OBJ)
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libzeroproof_engine.so -o $@ $^ $(ALL_LDFLAGS) \
	  -Wl,--as-needed $(LIBS)

lib: $(BINDING_SHARED)
