// ACDC under Go's collector: the mutator of src/workloads/acdc, object by object.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"
)

type metric struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

type series struct {
	Unit   string  `json:"unit"`
	Points []point `json:"points"`
}

type sample struct {
	Schema     int               `json:"schema"`
	Workload   string            `json:"workload"`
	Parameters map[string]any    `json:"parameters"`
	Seed       uint64            `json:"seed"`
	Metrics    map[string]metric `json:"metrics"`
	Series     map[string]series `json:"series"`
	ServedBy   struct{}          `json:"served_by"`
}

func main() {
	if percent := os.Getenv("GOGC"); percent != "" && percent != "off" && percent != fmt.Sprint(growth()) {
		complain("GOGC="+percent+": not in effect; takes a percentage, or off", 2)
	}
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Printf("%s: GOGC=%d, GOMEMLIMIT=%d\n", runtime.Version(), growth(), debug.SetMemoryLimit(-1))
		return
	}
	o, err := parse(os.Args[1:])
	if err != nil {
		complain(err.Error(), 2)
	}
	all := make([]*mutator, o.threads)
	b := &books{options: o}
	begin, drifting := newBarrier(o.threads+1), newBarrier(o.threads)
	var done sync.WaitGroup
	for i := range all {
		all[i] = newMutator(o, i, all, drifting, b)
	}
	for _, each := range all {
		done.Add(1)
		go func() {
			defer done.Done()
			begin.wait()
			each.run()
		}()
	}
	stops, before := beginPauses(), usageNow()
	b.start = time.Now()
	begin.wait()
	done.Wait()
	wall := time.Since(b.start).Seconds()
	found := report(all, b, wall, usageNow(), before, stops.since())
	var allocated, freed uint64
	for _, each := range all {
		each.dropRest()
		allocated += each.allocations
		freed += each.frees
	}
	if allocated != freed {
		fail("self-check failed: as many objects freed as allocated")
	}
	if o.accounts != "" {
		write(o.accounts, []byte(b.tables(all)))
	}
	if o.json != "" {
		text, _ := json.Marshal(sample{Schema: 1, Workload: "acdc", Parameters: o.values, Seed: o.seed, Metrics: found,
			Series: map[string]series{"memory": {"B", b.memory}, "live_bytes": {"B", b.live}}})
		write(o.json, append(text, '\n'))
	}
}

// How much the heap may grow before the next collection, in percent.
func growth() uint64 {
	read := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(read)
	return read[0].Value.Uint64()
}

func report(all []*mutator, b *books, wall float64, now, before usage, stops []float64) map[string]metric {
	found := map[string]metric{}
	seconds := func(name string, value float64) { found[name] = metric{value, "s"} }
	number := func(name string, value float64) { found[name] = metric{value, "1"} }
	bytes := func(name string, value float64) { found[name] = metric{value, "B"} }
	sum := func(of func(m *mutator) float64) (total float64) {
		for _, each := range all {
			total += of(each)
		}
		return total
	}
	threads := float64(len(all))
	seconds("wall_time", wall)
	seconds("user_time", now.user-before.user)
	seconds("system_time", now.system-before.system)
	seconds("cpu_time", now.user-before.user+now.system-before.system)
	number("minor_faults", now.minorFaults-before.minorFaults)
	number("major_faults", now.majorFaults-before.majorFaults)
	bytes("peak_memory", float64(peakAnonymous()))
	bytes("end_memory", float64(anonymous()))
	bytes("page_tables", float64(status("VmPTE:")))
	seconds("allocation_time", sum(func(m *mutator) float64 { return m.allocation.Seconds() })/threads)
	seconds("deallocation_time", sum(func(m *mutator) float64 { return m.dropping.Seconds() })/threads)
	seconds("allocator_time", found["allocation_time"].Value+found["deallocation_time"].Value)
	seconds("access_time", sum(func(m *mutator) float64 { return m.access.Seconds() })/threads)
	number("allocated_objects", sum(func(m *mutator) float64 { return float64(m.allocations) }))
	number("freed_objects", sum(func(m *mutator) float64 { return float64(m.frees) }))
	number("remotely_freed_objects", sum(func(m *mutator) float64 { return float64(m.remotely) }))
	bytes("allocated_bytes", sum(func(m *mutator) float64 { return float64(m.allocated.Load()) }))
	bytes("freed_bytes", sum(func(m *mutator) float64 { return float64(m.freed.Load()) }))
	number("accessed_objects", sum(func(m *mutator) float64 { return float64(m.pacer.accessed) }))
	number("written_objects", sum(func(m *mutator) float64 { return float64(m.pacer.written) }))
	bytes("average_memory", b.memorySum/b.samples)
	bytes("average_memory_per_thread", b.memorySum/b.samples/threads)
	bytes("average_live_bytes", b.liveSum/b.samples)
	total := 0.0
	for _, each := range stops {
		total += each
	}
	number("pauses", float64(len(stops)))
	seconds("pause_time", total)
	number("pause_share", total/wall)
	if last := len(stops) - 1; last >= 0 {
		seconds("pause_p50", stops[last/2])
		seconds("pause_p99", stops[int(math.Ceil(0.99*float64(len(stops))))-1])
		seconds("pause_max", stops[last])
	}
	return found
}

func write(where string, text []byte) {
	path := strings.Replace(where, "fd:", "/proc/self/fd/", 1)
	if where == "-" {
		path = "/proc/self/fd/1"
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		complain(where+": cannot be written", 2)
	}
}

func fail(why string) { complain(why, 1) }

func complain(why string, status int) {
	fmt.Fprintln(os.Stderr, "acdc: "+why)
	os.Exit(status)
}
