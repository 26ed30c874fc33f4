package main

import (
	"fmt"
	"strings"
	"time"
)

type point [2]float64

// Memory by tick of thread 0, and the tables of --accounts as src/workloads/acdc/accounts.cpp prints them.
type books struct {
	*options
	start              time.Time
	memory, live       []point
	memorySum, liveSum float64
	samples            float64
	rows               strings.Builder
}

func (b *books) sample(tick uint64, all []*mutator) {
	resident := float64(anonymous())
	live := 0.0
	for _, each := range all {
		live += float64(each.allocated.Load() - each.freed.Load())
	}
	if stride := (b.ticks + 499) / 500; tick%stride == 0 {
		now := time.Since(b.start).Seconds()
		b.memory = append(b.memory, point{now, resident})
		b.live = append(b.live, point{now, live})
	}
	if tick < 2*b.maxLiveness {
		return
	}
	b.memorySum += resident
	b.liveSum += live
	b.samples++
}

func (b *books) note(tick uint64, first *mutator) {
	if b.accounts != "" {
		fmt.Fprintf(&b.rows, "%d\t%d\t%d\t%d\t%d\n", tick, first.allocated.Load(), first.freed.Load(),
			first.allocations, first.frees)
	}
}

func (b *books) tables(all []*mutator) string {
	var text strings.Builder
	text.WriteString("tick\tallocated_bytes\tfreed_bytes\tallocated_objects\tfreed_objects\n" + b.rows.String())
	add := func(headings string, count func(m *mutator) []uint64) {
		text.WriteString(headings)
		for i := range count(all[0]) {
			sum := uint64(0)
			for _, each := range all {
				sum += count(each)[i]
			}
			if sum != 0 {
				fmt.Fprintf(&text, "%d\t%d\n", i, sum)
			}
		}
	}
	add("liveness\tobjects\n", func(m *mutator) []uint64 { return m.byLiveness })
	add("log2_size\tobjects\n", func(m *mutator) []uint64 { return m.byLog2[:] })
	return text.String()
}
