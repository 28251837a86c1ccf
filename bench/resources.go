package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// These are the names of the resources in the results.
const (
	resIdle       = "idle_rss_mb"
	resConns      = "connections"
	resConnsRSS   = "connections_rss_mb"
	resStartEmpty = "start_empty_ms"
	resStartFull  = "start_1gb_ms"
	resFullSize   = "start_1gb_directory_mb"
	resBinary     = "binary_mb"
	resLoadedRSS  = "loaded_rss_mb"
)

const (
	megabyte = 1 << 20
	// startRounds is how often the start of a server is measured. The result is the median.
	startRounds = 7
	// idleTime is the time for which a server is idle before its memory is read.
	idleTime = 2 * time.Second
	// fullDocuments is the number of documents of 1 KB in 1 GB.
	fullDocuments = 1 << 20
	// loaders is the number of clients that insert the documents of 1 GB.
	loaders = 4
)

// resources measures the memory of an idle server, the time of its start, and the size of its
// binary.
type resources struct {
	binary string
	temp   string
	// connections is the number of idle connections to open.
	connections int
	// full says whether a start on a directory of 1 GB is measured.
	full     bool
	progress io.Writer
}

func (r *resources) measure(ctx context.Context) (map[string]float64, error) {
	values := map[string]float64{}
	info, err := os.Stat(r.binary)
	if err != nil {
		return nil, err
	}
	values[resBinary] = float64(info.Size()) / megabyte
	steps := []func(context.Context, map[string]float64) error{r.startEmpty, r.idle}
	if r.full {
		steps = append(steps, r.startFull)
	}
	for _, step := range steps {
		if err := errors.Join(step(ctx, values), ctx.Err()); err != nil {
			return values, err
		}
	}
	return values, nil
}

// startEmpty measures the time from the start of a server on an empty directory to its ready line.
func (r *resources) startEmpty(_ context.Context, values map[string]float64) error {
	var times []float64
	for range startRounds {
		dir, err := os.MkdirTemp(r.temp, "empty")
		if err != nil {
			return err
		}
		p, err := startSheaf(r.binary, filepath.Join(dir, "data"), serveBudget)
		if err != nil {
			return err
		}
		times = append(times, micros(p.started)/1000)
		if err := errors.Join(p.close(), os.RemoveAll(dir)); err != nil {
			return err
		}
	}
	values[resStartEmpty] = median(times)
	return nil
}

// idle measures the memory of an idle server with one client, and with many connections.
func (r *resources) idle(ctx context.Context, values map[string]float64) (err error) {
	dir, err := os.MkdirTemp(r.temp, "idle")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := startSheaf(r.binary, dir, serveBudget)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	s, err := newMongoSide("idle", options.Client().ApplyURI(p.uri), concernUnsynced)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.ping(ctx, nil); err != nil {
		return err
	}
	time.Sleep(idleTime)
	rss, ok := residentBytes(p.pid())
	if !ok {
		return nil
	}
	values[resIdle] = float64(rss) / megabyte

	n := min(r.connections, openFiles()-200)
	conns, err := connect(ctx, p.uri, n)
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	if err != nil {
		return err
	}
	time.Sleep(idleTime)
	if rss, ok = residentBytes(p.pid()); ok {
		values[resConns], values[resConnsRSS] = float64(n), float64(rss)/megabyte
	}
	return nil
}

// connect opens n connections and sends hello on each, as a driver does.
func connect(ctx context.Context, uri string, n int) ([]net.Conn, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, err
	}
	hello := message(bson.D{{"hello", 1}, {"$db", "admin"}})
	conns := make([]net.Conn, 0, max(n, 0))
	reply := make([]byte, 16<<10)
	for range n {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
		if _, err := c.Write(hello); err != nil {
			return conns, err
		}
		if _, err := c.Read(reply); err != nil {
			return conns, err
		}
	}
	return conns, nil
}

// startFull fills a directory with 1 GB and measures the start of a server on it.
func (r *resources) startFull(ctx context.Context, values map[string]float64) (err error) {
	dir, err := os.MkdirTemp(r.temp, "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintf(r.progress, "filling a directory with %d documents\n", fullDocuments)
	if err := r.fillFull(ctx, dir, values); err != nil {
		return err
	}
	if values[resFullSize], err = directorySize(dir); err != nil {
		return err
	}
	var times []float64
	for range startRounds {
		p, err := startSheaf(r.binary, dir, serveBudget)
		if err != nil {
			return err
		}
		times = append(times, micros(p.started)/1000)
		if err := p.close(); err != nil {
			return err
		}
	}
	values[resStartFull] = median(times)
	return nil
}

func (r *resources) fillFull(ctx context.Context, dir string, values map[string]float64) (err error) {
	p, err := startSheaf(r.binary, dir, serveBudget)
	if err != nil {
		return err
	}
	s, err := servedSide(sideSheaf, p, concernUnsynced)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var wg sync.WaitGroup
	errs := make([]error, loaders)
	d := dataset{size: fullDocuments}
	for l := range loaders {
		wg.Go(func() {
			for from := l * insertBatch; from < fullDocuments && errs[l] == nil; from += loaders * insertBatch {
				batch := make([]any, 0, insertBatch)
				for i := from; i < min(from+insertBatch, fullDocuments); i++ {
					doc, err := d.document(i)
					if err != nil {
						errs[l] = err
						return
					}
					batch = append(batch, doc)
				}
				_, errs[l] = s.docs.InsertMany(ctx, batch)
			}
		})
	}
	wg.Wait()
	if rss, ok := residentBytes(p.pid()); ok {
		values[resLoadedRSS] = float64(rss) / megabyte
	}
	return errors.Join(errs...)
}

// directorySize returns the size of a directory in megabytes.
func directorySize(dir string) (float64, error) {
	var bytes int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return float64(bytes) / megabyte, err
}
