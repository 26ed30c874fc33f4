package main

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A lifetime-size-class: a list in the order of allocation, or a tree built in pre-order from left to right.
type sizeClass struct {
	plan
	maker   int
	holders atomic.Int32
	first   *node
	object  reflect.Type
}

// The begin of an object. What lies behind it is as long as the plan says: the object has a type that is made
// for its size, so that it is one block with its links, which the collector knows. A list has no right link.
type node struct {
	left  *node
	right *node
}

var objectTypes sync.Map // by the number of links, and of words behind them

func objectType(p plan) reflect.Type {
	links := uint64(listLinks)
	if p.tree {
		links = treeLinks
	}
	key := [2]uint64{links, (p.size - links + 7) / 8}
	if known, found := objectTypes.Load(key); found {
		return known.(reflect.Type)
	}
	link := reflect.TypeFor[*node]()
	made := reflect.StructOf([]reflect.StructField{
		{Name: "Links", Type: reflect.ArrayOf(int(links/8), link)},
		{Name: "Payload", Type: reflect.ArrayOf(int(key[1]), reflect.TypeFor[uint64]())},
	})
	objectTypes.Store(key, made)
	return made
}

func (c *sizeClass) bytes() uint64 { return c.size * c.count }

func (c *sizeClass) take() *node { return (*node)(reflect.New(c.object).UnsafePointer()) }

func (c *sizeClass) allocate() {
	if c.tree {
		c.first = c.buildTree(c.count)
		return
	}
	c.first = c.take()
	last := c.first
	for i := uint64(1); i < c.count; i++ {
		last.left = c.take()
		last = last.left
	}
}

func (c *sizeClass) buildTree(count uint64) *node {
	if count == 0 {
		return nil
	}
	made := c.take()
	left := (count - 1) / 2
	made.left = c.buildTree(left)
	made.right = c.buildTree(count - 1 - left)
	return made
}

func (c *sizeClass) access(p *pacer, iterations uint64) {
	visited := uint64(0)
	if c.tree {
		visited = c.accessTree(c.first, p, iterations)
	} else {
		for at := c.first; at != nil; at = at.left {
			c.visit(at, listLinks, p, iterations)
			visited++
		}
	}
	if visited != c.count {
		fail("self-check failed: an object is missing")
	}
}

func (c *sizeClass) accessTree(at *node, p *pacer, iterations uint64) uint64 {
	if at == nil {
		return 0
	}
	c.visit(at, treeLinks, p, iterations)
	return 1 + c.accessTree(at.right, p, iterations) + c.accessTree(at.left, p, iterations)
}

func (c *sizeClass) visit(at *node, links uintptr, p *pacer, iterations uint64) {
	if !p.next() {
		return
	}
	payload := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(at), links)), c.size-uint64(links))
	for i := uint64(0); i < iterations; i++ {
		for j := 1; j < len(payload); j++ {
			payload[j] = payload[j-1] + 1
		}
	}
}
