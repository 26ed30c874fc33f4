package main

import "math"

// Selects a share of all objects for writing, spread evenly: src/workloads/acdc/write_pacer.h.
type pacer struct {
	step, sum, accessed, written uint64
}

const whole = 1 << 32

func newPacer(percent float64) pacer {
	return pacer{step: uint64(math.Round(percent / 100 * whole))}
}

func (p *pacer) next() bool {
	p.sum += p.step
	write := p.sum >> 32
	p.sum &= whole - 1
	p.accessed++
	p.written += write
	return write != 0
}
