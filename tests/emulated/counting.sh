# What the machine of counting.py does.
echo "before: $(./trace_tool counters)"
echo 1 >/proc/sys/kernel/perf_user_access
echo "after: $(./trace_tool counters)"
./base_test --gtest_color=no --gtest_brief=1 --gtest_filter='instruction_counter*'
HEAPLAB_RECORD=/emulated/raw LD_PRELOAD=/emulated/libheaplab_recorder.so \
  perl -e '$x{$_} = 1 for 1..20000; $child = fork; if ($child) { waitpid $child, 0 } else { @y = (1) x 1000 }'
./trace_tool finish raw x.trace
echo "trace:"
busybox base64 x.trace
