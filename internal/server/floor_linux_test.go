package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/wire"
)

// pingClientEnv makes TestPingClient the client process of BenchmarkFloorRatio. It has an address,
// a number of connections and a duration.
const pingClientEnv = "SHEAF_PING_CLIENT"

// TestPingClient is the client process of BenchmarkFloorRatio.
func TestPingClient(t *testing.T) {
	t.Parallel()
	task := os.Getenv(pingClientEnv)
	if task == "" {
		t.Skip("BenchmarkFloorRatio runs it in a process of its own")
	}
	if err := pingClient(task); err != nil {
		t.Fatal(err)
	}
}

// pingClient sends pings and prints how many replies it got.
func pingClient(task string) error {
	var addr string
	var clients int
	var millis int64
	if _, err := fmt.Sscan(task, &addr, &clients, &millis); err != nil {
		return err
	}
	end := time.Now().Add(time.Duration(millis) * time.Millisecond)
	var sent atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, clients)
	for i := range clients {
		wg.Go(func() { errs[i] = pingUntil(addr, end, &sent) })
	}
	wg.Wait()
	fmt.Printf("sent %d\n", sent.Load())
	return errors.Join(errs...)
}

func pingUntil(addr string, end time.Time, sent *atomic.Int64) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	message, reply := driversPing(), make([]byte, 4<<10)
	for time.Now().Before(end) {
		if _, err := nc.Write(message); err != nil {
			return err
		}
		n, err := io.ReadAtLeast(nc, reply, wire.HeaderLen)
		if err != nil {
			return err
		}
		h, err := wire.ParseHeader(reply)
		if err != nil {
			return err
		}
		if _, err := io.ReadFull(nc, reply[n:max(int(h.Length), n)]); err != nil {
			return err
		}
		sent.Add(1)
	}
	return nil
}

// BenchmarkFloorRatio measures the processor time per ping of this server and of a server that does
// nothing, by turns, with the clients in another process. On a busy machine the ratio of the
// medians is steadier than the times.
func BenchmarkFloorRatio(b *testing.B) {
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			floor, sheaf := listenFloor(b), listenMember(b)
			var ratios, floors, sheaves []float64
			b.ResetTimer()
			for range max(b.N, 9) {
				f, s := pingCost(b, floor, clients), pingCost(b, sheaf, clients)
				floors, sheaves, ratios = append(floors, f), append(sheaves, s), append(ratios, s/f)
			}
			b.ReportMetric(middle(ratios), "ratio")
			b.ReportMetric(middle(floors), "floor-µs/ping")
			b.ReportMetric(middle(sheaves), "sheaf-µs/ping")
		})
	}
}

func middle(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func listenFloor(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	ok := bsonx.NewDoc("ok", 1.0)
	go floorServer(l, ok, ok)
	return l.Addr().String()
}

func listenMember(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := newMemberServer(b)
	go func() { _ = srv.Serve(context.Background(), l) }()
	return l.Addr().String()
}

// pingCost returns the processor time of this process per ping in microseconds.
func pingCost(b *testing.B, addr string, clients int) float64 {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestPingClient$")
	cmd.Env = append(os.Environ(), pingClientEnv+"="+addr+" "+strconv.Itoa(clients)+" 200")
	before := ownTime(b)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	spent := ownTime(b) - before
	_, rest, _ := strings.Cut(string(out), "sent ")
	line, _, _ := strings.Cut(rest, "\n")
	sent, err := strconv.Atoi(line)
	if err != nil || sent == 0 {
		b.Fatalf("the client said %q", out)
	}
	return float64(spent.Nanoseconds()) / 1e3 / float64(sent)
}

func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
