package command

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// failPoints are switches by which drivers' tests make commands fail. Without test commands they are never on.
type failPoints struct {
	active atomic.Int32
	mu     sync.Mutex
	points map[string]*failPoint
	// counts says how often fail points fired that are off now.
	counts map[string]int64
	// changed is closed when one fires; nil where nobody waits for that.
	changed chan struct{}
}

type failPoint struct {
	alwaysOn bool
	times    int64 // how often it still fires, where not always on
	skip     int64
	entered  int64
	// chance, where not 0, is the probability with which an always-on fail point fires.
	chance float64
	data   failData
}

// failData is the data of the failCommand fail point.
type failData struct {
	commands     map[string]bool
	errorCode    int32
	hasErrorCode bool
	labels       []string
	hasLabels    bool
	close        bool
	block        time.Duration
	appName      string
	wcError      bsonx.Doc
	namespace    string

	// Of onPrimaryTransactionalWrite: the connection is closed unless it is said otherwise.
	keepsConnection bool
	beforeCommit    mongoerr.Code
}

// failure is what a fail point does to a reply beside failing the command.
type failure struct {
	closeConn bool
	wcError   bsonx.Doc
	labels    []string
}

// appendWriteConcernErrors appends the write concern error of a reply, be it the command's own or a fail point's, and its label.
func (r *Request) appendWriteConcernErrors(b *bsonx.Builder, f failure) {
	var code mongoerr.Code
	switch e := r.Reply.writeConcernError; {
	case f.wcError != nil:
		b.Doc("writeConcernError", f.wcError)
		n, _ := f.wcError.Lookup("code").AsInt64()
		code = mongoerr.Code(n)
	case e != nil:
		r.appendWriteConcernError(b)
		code = e.Code
	default:
		return
	}
	switch {
	case f.labels != nil:
		appendLabels(b, f.labels)
	case r.mayRetry() && isRetriable(code):
		appendLabels(b, []string{labelRetryable})
	}
}

const codeConnectionClosed = mongoerr.Code(50985)

const (
	failCommand = "failCommand"
	// failWrite makes the statements of retryable writes fail: their connection, or before they are committed.
	failWrite = "onPrimaryTransactionalWrite"
	// failGetMore makes getMores fail when they have their cursor.
	failGetMore = "failGetMoreAfterCursorCheckout"
	// disableOptimization switches the optimiser of pipelines off.
	disableOptimization = "disablePipelineOptimization"
	// alwaysTimeOut makes commands with maxTimeMS fail, neverTimeOut lets them take longer.
	alwaysTimeOut = "maxTimeAlwaysTimeOut"
	neverTimeOut  = "maxTimeNeverTimeOut"
)

// failPointNames are the fail points that there are.
var failPointNames = []string{failCommand, failWrite, failGetMore, disableOptimization, alwaysTimeOut, neverTimeOut}

// isOn reports whether a fail point without data is on, and counts it.
func (f *failPoints) isOn(name string) bool {
	if f.active.Load() == 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fires(name)
}

// fires counts down a fail point and reports whether it fires. It needs the lock.
func (f *failPoints) fires(name string) bool {
	p := f.points[name]
	if p == nil {
		return false
	}
	if p.skip > 0 {
		p.skip--
		return false
	}
	if p.chance > 0 && rand.Float64() >= p.chance {
		return false
	}
	p.entered++
	if !p.alwaysOn {
		if p.times--; p.times <= 0 {
			f.remove(name)
		}
	}
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
	return true
}

// match applies the failCommand fail point to a request.
func (f *failPoints) match(req *Request) (failure, error) {
	if f.active.Load() == 0 {
		return failure{}, nil
	}
	data, ok := f.take(req)
	if !ok {
		return failure{}, nil
	}
	if data.block > 0 {
		// The command is not parsed yet, but its time is running. A getMore's maxTimeMS is no limit: it says how long to wait.
		if ms, ok := req.Body.Lookup("maxTimeMS").AsInt64(); ok && ms > 0 && ms <= data.block.Milliseconds() && !req.Def.OwnMaxTime {
			req.Op.LimitTime(time.Duration(ms) * time.Millisecond)
		}
		timer := time.NewTimer(data.block)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-req.Op.Done():
			return failure{}, context.Cause(req.Op)
		}
	}
	if data.close {
		return failure{closeConn: true}, mongoerr.New(codeConnectionClosed,
			"Failing '%s' command via 'failCommand' failpoint and closing connection", req.Name)
	}
	if data.hasErrorCode {
		err := mongoerr.New(mongoerr.Code(data.errorCode), "Failing command via 'failCommand' failpoint")
		err.Labels = data.labels
		return failure{}, err
	}
	return failure{wcError: data.wcError, labels: data.labels}, nil
}

// take reports whether the fail point fires for the request, and counts it.
func (f *failPoints) take(req *Request) (failData, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.points[failCommand]
	if p == nil || req.Def.TestOnly || !p.data.commands[req.Def.Name] && !p.data.commands[req.Name] {
		return failData{}, false
	}
	if p.data.appName != "" && p.data.appName != req.clientName() {
		return failData{}, false
	}
	if p.data.namespace != "" {
		db, coll := req.target()
		if p.data.namespace != db+"."+string(coll) {
			return failData{}, false
		}
	}
	return p.data, f.fires(failCommand)
}

// write applies onPrimaryTransactionalWrite to a statement of a retryable write that is about to be committed.
func (f *failPoints) write(req *Request) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.points[failWrite]
	if p == nil || !f.fires(failWrite) {
		return nil
	}
	req.Reply.lost = req.Reply.lost || !p.data.keepsConnection
	if p.data.beforeCommit == 0 {
		return nil
	}
	return mongoerr.New(p.data.beforeCommit, "Failing write for %s:%d due to failpoint. The write must not be reflected.",
		req.Session.ID, req.Generic.TxnNumber)
}

// GetMore applies failGetMoreAfterCursorCheckout.
func (f *failPoints) GetMore(req *Request) error {
	if f.active.Load() == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.points[failGetMore]
	if p == nil || !f.fires(failGetMore) {
		return nil
	}
	req.Reply.lost = req.Reply.lost || p.data.close
	if !p.data.hasErrorCode {
		return nil
	}
	return mongoerr.New(mongoerr.Code(p.data.errorCode), "Hit the '%s' failpoint", failGetMore)
}

// remove needs the lock.
func (f *failPoints) remove(name string) {
	if p, ok := f.points[name]; ok {
		if f.counts == nil {
			f.counts = make(map[string]int64)
		}
		f.counts[name] += p.entered
		delete(f.points, name)
		f.active.Add(-1)
	}
}

// set puts a fail point on, or off where p is nil. It returns how often it has fired before.
func (f *failPoints) set(name string, p *failPoint) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(name)
	if p == nil {
		return f.counts[name]
	}
	if f.points == nil {
		f.points = make(map[string]*failPoint)
	}
	f.points[name] = p
	f.active.Add(1)
	return f.counts[name]
}

// entered returns how often a fail point has fired, and a channel that is closed when one fires next.
func (f *failPoints) entered(name string) (int64, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.counts[name]
	if p := f.points[name]; p != nil {
		n += p.entered
	}
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return n, f.changed
}

// timeLimit applies the fail points of maxTimeMS, and reports whether the command's limit counts.
func (f *failPoints) timeLimit() (counts bool, err error) {
	switch {
	case f.active.Load() == 0:
		return true, nil
	case f.isOn(alwaysTimeOut):
		return true, mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")
	default:
		return !f.isOn(neverTimeOut), nil
	}
}

// clientName returns the name of the client's application. The first hello of a connection brings it along.
func (r *Request) clientName() string {
	if r.Conn.ClientApp == "" && isHello(r.Def) {
		if name := r.Body.LookupPath("client", "application", "name"); name.Type == bsonx.TypeString {
			return name.Str()
		}
	}
	return r.Conn.ClientApp
}

// FailPointCommands returns configureFailPoint.
func FailPointCommands() []Definition {
	return []Definition{{
		Name: "configureFailPoint", Loose: true, Help: "Makes commands fail, for tests.", AdminOnly: true, TestOnly: true, Hidden: true,
		Fields: []Field{{Name: "mode", Required: true}, {Name: "data", Type: Object}},
		Run:    runConfigureFailPoint,
	}, {
		Name: "waitForFailPoint", Help: "Waits until a fail point has fired, for tests.", AdminOnly: true, TestOnly: true, Hidden: true,
		NoSlowLog: true, CommandField: String, Fields: []Field{{Name: "timesEntered", Type: SafeInt, Required: true, Check: AtLeast(0)}},
		Run: runWaitForFailPoint,
	}, {
		Name: "testVersion2", Help: "Belongs to version 2 of the stable API, which there is not, for tests.", TestOnly: true, Hidden: true, NoAuth: true,
		Run: func(context.Context, *Request, *bsonx.Builder) error { return nil },
	}}
}

// runWaitForFailPoint waits as long as maxTimeMS allows.
func runWaitForFailPoint(ctx context.Context, req *Request, _ *bsonx.Builder) error {
	name := req.CommandValue().Str()
	if !slices.Contains(failPointNames, name) {
		return mongoerr.New(codeNoFailPoint, "%s not found", name)
	}
	if !req.Generic.HasMaxTime {
		return mongoerr.New(codeMissingField, "BSON field 'waitForFailPoint.maxTimeMS' is missing but a required field")
	}
	for {
		n, changed := req.Service.FailPoints.entered(name)
		if n >= req.Int64("timesEntered", 0) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// codeNoFailPoint is FailPointSetFailed.
const codeNoFailPoint = mongoerr.Code(233)

func runConfigureFailPoint(_ context.Context, req *Request, reply *bsonx.Builder) error {
	name := req.CommandValue()
	if name.Type != bsonx.TypeString {
		return WrongType("configureFailPoint.configureFailPoint", name.Type, String)
	}
	p, err := parseFailPoint(req.Get("mode"))
	if err != nil {
		return err
	}
	if p != nil {
		if !slices.Contains(failPointNames, name.Str()) {
			return mongoerr.New(mongoerr.BadValue, "%s not found", name.Str())
		}
		if p.data, err = parseFailData(req.Doc("data")); err != nil {
			return err
		}
	}
	reply.Int64("count", req.Service.FailPoints.set(name.Str(), p))
	return nil
}

// parseFailPoint returns nil for mode "off".
func parseFailPoint(mode bsonx.Value) (*failPoint, error) {
	switch {
	case mode.Type == bsonx.TypeString && mode.Str() == "off":
		return nil, nil
	case mode.Type == bsonx.TypeString && mode.Str() == "alwaysOn":
		return &failPoint{alwaysOn: true}, nil
	case mode.Type == bsonx.TypeDocument:
		if v := mode.Doc().Lookup("times"); v.Type.IsNumber() {
			return &failPoint{times: SaturatingInt64(v)}, nil
		}
		if v := mode.Doc().Lookup("skip"); v.Type.IsNumber() {
			return &failPoint{alwaysOn: true, skip: SaturatingInt64(v)}, nil
		}
		if v := mode.Doc().Lookup("activationProbability"); v.Type.IsNumber() {
			chance, _ := v.AsFloat64()
			if chance < 0 || chance > 1 {
				return nil, mongoerr.New(mongoerr.BadValue, "activationProbability must be between 0.0 and 1.0; found %g", chance)
			}
			if chance == 0 {
				return nil, nil
			}
			return &failPoint{alwaysOn: true, chance: chance}, nil
		}
	}
	return nil, mongoerr.New(mongoerr.BadValue, "unknown mode of fail point")
}

func parseFailData(doc bsonx.Doc) (failData, error) {
	d := failData{commands: make(map[string]bool)}
	for it := doc.Iter(); it.Next(); {
		v := it.Value()
		switch string(it.Key()) {
		case "failCommands":
			if v.Type != bsonx.TypeArray {
				return d, WrongType("configureFailPoint.data.failCommands", v.Type, Array)
			}
			for _, e := range v.Doc().Values() {
				if e.Type == bsonx.TypeString {
					d.commands[e.Str()] = true
				}
			}
		case "errorCode":
			d.errorCode, d.hasErrorCode = int32(SaturatingInt64(v)), true
		case "errorLabels":
			d.labels, d.hasLabels = []string{}, true
			if v.Type == bsonx.TypeArray {
				for _, e := range v.Doc().Values() {
					if e.Type != bsonx.TypeString {
						return d, WrongType("configureFailPoint.data.errorLabels", e.Type, String)
					}
					d.labels = append(d.labels, e.Str())
				}
			}
		case "closeConnection":
			d.close = v.Truthy()
			d.keepsConnection = !v.Truthy()
		case "failBeforeCommitExceptionCode":
			d.beforeCommit = mongoerr.Code(SaturatingInt64(v))
		case "namespace":
			if v.Type == bsonx.TypeString {
				d.namespace = v.Str()
			}
		case "blockConnection":
			if v.Truthy() {
				d.block = time.Duration(SaturatingInt64(doc.Lookup("blockTimeMS"))) * time.Millisecond
			}
		case "writeConcernError":
			if v.Type == bsonx.TypeDocument {
				d.wcError = v.Doc().Clone()
			}
		case "appName":
			if v.Type == bsonx.TypeString {
				d.appName = v.Str()
			}
		}
	}
	return d, nil
}
