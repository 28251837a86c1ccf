package report_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// synthetic returns the result of an invented run with two scenarios and 25 iterations. It
// multiplies the latencies of one of the scenarios by factor.
func synthetic(seed uint64, factor float64) *result.Result {
	r := &result.Result{
		Format: result.Format, Title: "carts and queues", Started: time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC),
		RuntimeSeconds: 25.4, ScheduleSeconds: 25,
		Environment: result.Environment{
			Target: "embedded", Server: "Sheaf", ServerVersion: "0.3.0 (MongoDB 8.0.0)", Topology: "replica set",
			SimulatorBuild: "v0.3.0", GoVersion: "go1.26.0",
			OS: "debian 13", Arch: "amd64", CPU: "Example CPU", Cores: 2, MemoryBytes: 8 << 30,
		},
		Options: result.Options{
			PoolSize: 100, WarmUp: 2, CoolDown: 1, Seed: 1,
			MaxInFlight: 20000, WriteConcern: "majority",
		},
		ClientCPUSeconds: 20.5, Server: counters(seed),
	}
	r.Scenarios = []*result.Scenario{
		users(seed, "cart-reserve", "Reserve products in a cart", "cart", 200, 4*factor),
		users(seed+1, "queue-publish", "Publish to queues", "queue", 300, 1),
	}
	r.Scenarios[0].Params = map[string]string{"products": "5", "size": "1024"}
	return r
}

func users(seed uint64, name, title, group string, n int, median float64) *result.Scenario {
	const iterations, warmUp, coolDown = 25, 2, 1
	random := rand.New(rand.NewPCG(seed, 7))
	s := &result.Scenario{
		Name: name, Label: name, Title: title, Group: group, Database: "sim_" + group, Measured: *result.NewMeasured(),
		Check: result.Check{Done: true},
		Load: result.Load{
			Iterations: iterations, ResolutionMillis: 1000, Users: n, Shape: "constant", Spread: "slice",
			MeasuredIteration: iterations - warmUp - coolDown,
		},
	}
	s.RuntimeSeconds = iterations + 0.1
	for i := range iterations {
		slot, stall := s.Slot(i), math.Exp(0.1*random.NormFloat64())
		if i == 12 {
			stall *= 4
		}
		for range n {
			slot.Started++
			slot.Ended++
			s.Started++
			if random.IntN(1000) == 0 {
				slot.Failed++
				s.Failed++
				s.Errors[scenario.Label(errors.New("no stock: product 7"))]++
				continue
			}
			s.Succeeded++
			if i < warmUp || i >= iterations-coolDown {
				continue
			}
			d := time.Duration(median * stall * math.Exp(0.5*random.NormFloat64()) * float64(time.Millisecond))
			slot.Latency.Add(d)
			s.Latency.Add(d)
			s.Lateness.Add(time.Duration(random.IntN(300)) * time.Microsecond)
			s.Step("write").Add(d / 2)
		}
	}
	s.Counts["bought"] = s.Succeeded
	return s
}

func counters(seed uint64) *result.Server {
	random := rand.New(rand.NewPCG(seed, 8))
	out := &result.Server{
		CPUSeconds: 31.2,
		Deltas:     map[string]int64{"opcounters.insert": 5000, "opcounters.update": 12000, "network.bytesIn": 4 << 20},
	}
	for i := range 25 {
		out.Samples = append(out.Samples, result.ServerSample{
			Second: float64(i + 1), CPU: 1 + 0.3*random.Float64(),
			ResidentBytes: int64(200+4*i) << 20, Connections: 104,
			Rates: map[string]float64{
				"opcounters.insert": 180 + 40*random.Float64(),
				"opcounters.update": 450 + 90*random.Float64(), "opcounters.query": 0, "network.bytesIn": 1e5,
			},
		})
	}
	return out
}
