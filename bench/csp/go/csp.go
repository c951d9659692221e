// SPDX-License-Identifier: BSD-3-Clause
// The measures of csp.c with Go's channels: the same networks, the same output.
//
//	GO111MODULE=off go build -o csp_go csp.go
//	GOMAXPROCS=1 ./csp_go commstime
package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

const reps = 5

var millis = 200 * time.Millisecond

func tell(key string, value float64, unit string) { fmt.Printf("%s %.6g %s\n", key, value, unit) }

func median(values []float64) float64 {
	sort.Float64s(values)
	return values[len(values)/2]
}

// Rounds that take about as long as asked, then the median time of one over reps.
func timed(loop func(n int)) float64 {
	n := 1000
	for {
		start := time.Now()
		loop(n)
		if took := time.Since(start); took >= millis/4 {
			n = int(float64(n)*float64(millis)/float64(took)) + 1
			break
		}
		n *= 2
	}
	values := make([]float64, reps)
	for i := range values {
		start := time.Now()
		loop(n)
		values[i] = float64(time.Since(start).Nanoseconds()) / float64(n)
	}
	return median(values)
}

func resident() float64 {
	data, _ := os.ReadFile("/proc/self/status")
	sum := 0.0
	for _, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(line, "VmRSS:") || strings.HasPrefix(line, "VmPTE:") {
			kib, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			sum += kib * 1024
		}
	}
	return sum
}

func commstime(parallel bool) {
	a, b, c, d := make(chan int), make(chan int), make(chan int), make(chan int)
	go func() {
		a <- 0
		for v := range c {
			a <- v
		}
	}()
	go func() {
		for v := range b {
			c <- v + 1
		}
	}()
	if parallel {
		go func() {
			for v := range a {
				var both sync.WaitGroup
				both.Add(2)
				go func() { b <- v; both.Done() }()
				go func() { d <- v; both.Done() }()
				both.Wait()
			}
		}()
	} else {
		go func() {
			for v := range a {
				b <- v
				d <- v
			}
		}()
	}
	expected := 0
	round := timed(func(n int) {
		for i := 0; i < n; i++ {
			if <-d != expected {
				panic("wrong value")
			}
			expected++
		}
	})
	if parallel {
		tell("commstime_par", round/4, "ns")
	} else {
		tell("commstime", round/4, "ns")
	}
}

func pingpong() {
	there, back := make(chan int), make(chan int)
	go func() {
		for v := range there {
			back <- v + 1
		}
	}()
	tell("pingpong", timed(func(n int) {
		for i := 0; i < n; i++ {
			there <- i
			if <-back != i+1 {
				panic("wrong value")
			}
		}
	}), "ns")
}

// One of n channels is chosen. Two: a select statement; more: Go has no statement for that.
func alternation(n int, all bool) {
	chans := make([]chan int, n)
	cases := make([]reflect.SelectCase, n)
	for i := range chans {
		chans[i] = make(chan int)
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(chans[i])}
		if all || i == n/2 {
			go func(out chan int, i int) {
				for {
					out <- i
				}
			}(chans[i], i)
		}
	}
	name := "one"
	if all {
		name = "all"
	}
	tell(fmt.Sprintf("alt_%d_%s", n, name), timed(func(rounds int) {
		for i := 0; i < rounds; i++ {
			if n == 2 {
				select {
				case v := <-chans[0]:
					if v != 0 {
						panic("wrong value")
					}
				case v := <-chans[1]:
					if v != 1 {
						panic("wrong value")
					}
				}
			} else if chosen, v, _ := reflect.Select(cases); chosen != int(v.Int()) {
				panic("wrong value")
			}
		}
	}), "ns")
}

func create() {
	tell("create_reused", timed(func(n int) {
		for i := 0; i < n; i++ {
			var done sync.WaitGroup
			done.Add(1)
			go func() { done.Done() }()
			done.Wait()
		}
	}), "ns")
}

// A million goroutines that all wait, then end.
func alive(count int) {
	before := resident()
	gate := make(chan int)
	var done sync.WaitGroup
	done.Add(count)
	start := time.Now()
	for i := 0; i < count; i++ {
		go func() { <-gate; done.Done() }()
	}
	for k := 0; k < 3; k++ {
		runtime.Gosched() // so that they all have come to the gate
	}
	took := time.Since(start)
	bytes := resident() - before
	start = time.Now()
	close(gate)
	done.Wait()
	took += time.Since(start)
	tell("create_alive", float64(took.Nanoseconds())/float64(count), "ns")
	tell("create_alive_bytes", bytes/float64(count), "bytes")
}

func ring(count int) {
	before := resident()
	first := make(chan int)
	left := first
	for i := 1; i < count; i++ {
		right := make(chan int)
		go func(in, out chan int) {
			for v := range in {
				out <- v + 1
			}
		}(left, right)
		left = right
	}
	values := make([]float64, reps)
	for i := -1; i < reps; i++ {
		start := time.Now()
		first <- 0
		if <-left != count-1 {
			panic("wrong token")
		}
		if i >= 0 {
			values[i] = time.Since(start).Seconds()
		}
	}
	tell("ring_round", median(values), "s")
	tell("ring_bytes", (resident()-before)/float64(count), "bytes")
}

func main() {
	runtime.GOMAXPROCS(1)
	what, count := os.Args[1], 1000000
	if len(os.Args) > 2 {
		ms, _ := strconv.Atoi(os.Args[2])
		millis = time.Duration(ms) * time.Millisecond
	}
	if len(os.Args) > 3 {
		count, _ = strconv.Atoi(os.Args[3])
	}
	switch what {
	case "commstime":
		commstime(false)
		commstime(true)
	case "pingpong":
		pingpong()
	case "alt":
		for _, n := range []int{2, 64, 1024} {
			alternation(n, true)
			alternation(n, false)
		}
	case "create":
		create()
	case "alive":
		alive(count)
	case "ring":
		debug.SetGCPercent(-1) // a collection in the middle of a round is not what is measured
		ring(count)
	}
}
