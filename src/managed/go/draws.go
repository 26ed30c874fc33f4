package main

import "math/bits"

// The random numbers of src/workloads/harness/random_stream.h, and those of the program of 2013.
type draws struct {
	first, second, original uint64
}

const golden = 0x9e3779b97f4a7c15

func newDraws(seed, stream uint64) draws {
	state := mix(seed) + 2*stream*golden
	return draws{mix(state + golden), mix(state+golden+golden) | 1, seed + stream}
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *draws) next() uint64 {
	x, y := d.first, d.second
	d.first = y
	x ^= x << 23
	d.second = x ^ y ^ x>>17 ^ y>>26
	return d.second + y
}

func (d *draws) below(bound uint64) uint64 {
	high, _ := bits.Mul64(d.next(), bound)
	return high
}

func (d *draws) between(least, most uint64) uint64 { return least + d.below(most-least+1) }

func (d *draws) chance(percent float64) bool {
	return float64(d.next()>>11)*0x1p-53*100 < percent
}

func (d *draws) originalBetween(least, most uint64) uint64 {
	d.original = d.original * 16807 % 2147483647
	return least + d.original%(most-least+1)
}
