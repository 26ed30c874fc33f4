package main

import (
	"math"
	"runtime/metrics"
)

// The runtime counts its pauses, from the request to stop until all goroutines run again, in histograms: a pause
// is told as the upper end of its bucket, up to a quarter more than it was.
type pauses struct{ before []uint64 }

func pauseHistogram() ([]uint64, []float64) {
	read := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/sched/pauses/total/other:seconds"}}
	metrics.Read(read)
	var counts []uint64
	var ends []float64
	for _, each := range read {
		if each.Value.Kind() != metrics.KindFloat64Histogram {
			fail("this Go tells no pauses; 1.22 and later do")
		}
		histogram := each.Value.Float64Histogram()
		ends = histogram.Buckets[1:]
		if counts == nil {
			counts = make([]uint64, len(histogram.Counts))
		}
		for i, count := range histogram.Counts {
			counts[i] += count
		}
	}
	return counts, ends
}

func beginPauses() pauses {
	counts, _ := pauseHistogram()
	return pauses{counts}
}

// Seconds of each pause since the begin, in ascending order.
func (p pauses) since() []float64 {
	counts, ends := pauseHistogram()
	var found []float64
	for i, end := range ends {
		if math.IsInf(end, 1) {
			end = ends[i-1]
		}
		for range counts[i] - p.before[i] {
			found = append(found, end)
		}
	}
	return found
}
