package main

import "math/bits"

const (
	permanent = 0
	listLinks = 8
	treeLinks = 16
)

// The plan of a lifetime-size-class: src/workloads/acdc/class_plan.cpp has the same draws in the same order.
type plan struct {
	liveness, size, count uint64
	tree, shared          bool
}

func log2(value uint64) uint64 { return uint64(bits.Len64(value) - 1) }

func (d *draws) plan(o *options) plan {
	if o.historic {
		return d.planAsOriginal(o)
	}
	first := log2(o.minSize)
	last := first
	if o.minSize != o.maxSize {
		last = log2(o.maxSize - 1)
	}
	octave := first + d.below(last-first+1)
	most := uint64(2)<<octave - 1
	if octave == last {
		most = o.maxSize
	}
	p := plan{size: d.between(max(o.minSize, 1<<octave), most)}
	p.liveness = d.between(o.minLiveness, o.maxLiveness)
	p.count = o.objects(p.size, p.liveness)
	p.tree = !d.chance(o.listRatio)
	if p.tree {
		p.size = max(p.size, treeLinks)
	}
	p.shared = o.shares && d.chance(o.sharedRatio)
	if o.permanentRatio > 0 && d.chance(o.permanentRatio) {
		p.liveness = permanent
	}
	return p
}

func (d *draws) planAsOriginal(o *options) plan {
	p := plan{liveness: d.originalBetween(o.minLiveness, o.maxLiveness)}
	exponent := d.originalBetween(log2(o.minSize), log2(o.maxSize)-1)
	p.size = d.originalBetween(1<<exponent, 2<<exponent-1)
	percent := d.originalBetween(0, 100)
	p.tree = float64(percent) >= o.listRatio && percent != 100
	if o.classObjects != 0 {
		p.size, p.liveness = o.minSize, o.minLiveness
	}
	p.count = o.objects(p.size, p.liveness)
	p.size = max(p.size, treeLinks)
	return p
}

func (o *options) objects(size, liveness uint64) uint64 {
	if o.classObjects != 0 {
		return o.classObjects
	}
	small := log2(o.maxSize) - log2(size) + 1
	shortLived := o.maxLiveness - liveness + 1
	return small * small * shortLived * shortLived
}
