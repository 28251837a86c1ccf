package agent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// The limits of the requests that an agent reads.
const (
	maxBody   = 4 << 20
	maxHeader = 16 << 10
	idleTime  = 2 * time.Minute
)

// Config configures an agent.
type Config struct {
	// Token is the secret that a monitor must know. It has at least MinToken characters.
	Token string
	// Set holds the scenarios of the agent.
	Set scenario.Set
	Env patterns.Env
}

// NewToken returns a token that cannot be guessed.
func NewToken() string { return rand.Text() }

// checkToken refuses tokens that are too short to be safe from guessing.
func checkToken(token string) error {
	if len(token) < MinToken {
		return fmt.Errorf("%w: it has %d characters; there must be %d", ErrToken, len(token), MinToken)
	}
	return nil
}

// server is an agent.
type server struct {
	Config
	ctx   context.Context // the context of Serve
	token [sha256.Size]byte

	mu  sync.Mutex
	job *job // the running job, or nil
}

// Serve serves monitors until ctx ends. It then ends a running job, and its monitor gets the
// measurements.
func Serve(ctx context.Context, l net.Listener, cfg Config) error {
	if err := checkToken(cfg.Token); err != nil {
		return errors.Join(err, l.Close())
	}
	cfg.Env = cfg.Env.WithDefaults()
	s := &server{Config: cfg, ctx: ctx, token: sha256.Sum256([]byte(cfg.Token))}
	h := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: patience, ReadTimeout: 3 * patience,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(cfg.Env.Logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("sim: serve as an agent: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := h.Shutdown(last); err != nil {
		return errors.Join(fmt.Errorf("sim: end the agent: %w", err), h.Close())
	}
	return nil
}

// handler returns the HTTP handler. It refuses every request without the token.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/about", s.about)
	mux.HandleFunc("POST /v1/job", s.start)
	mux.HandleFunc("POST /v1/job/{id}/{what}", s.control)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		sum := sha256.Sum256([]byte(given))
		if subtle.ConstantTimeCompare(sum[:], s.token[:]) != 1 {
			s.Env.Logger.Warn("refused a request without the token", "from", r.RemoteAddr)
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "the token is wrong or missing")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		mux.ServeHTTP(w, r)
	})
}

// refusal is the body of an error reply.
type refusal struct {
	Error string `json:"error"`
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refusal{text}) // the client may have gone
}

func (s *server) about(w http.ResponseWriter, _ *http.Request) {
	a := About{Protocol: Protocol, Format: result.Format, Build: engine.Build()}
	for _, d := range s.Set {
		a.Scenarios = append(a.Scenarios, d.Name)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // the client may have gone
}

// start runs a job, and streams its measurements.
func (s *server) start(w http.ResponseWriter, r *http.Request) {
	in, d := request{}, json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "not a job: "+err.Error())
		return
	}
	if err := s.validate(in); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	j := newJob(s, w, r, in)
	s.mu.Lock()
	busy := s.job != nil
	if !busy {
		s.job = j
	}
	s.mu.Unlock()
	if busy {
		refuse(w, http.StatusConflict, "a job is under way; there is one at a time")
		return
	}
	s.Env.Logger.Info("a job begins", "from", r.RemoteAddr, "target", in.Job.Settings.Name(), "share",
		in.Job.Share+1, "of", in.Job.Shares)
	ended := j.run()
	s.mu.Lock()
	s.job = nil
	s.mu.Unlock()
	s.Env.Logger.Info("the job has ended", "from", r.RemoteAddr, "how", ended)
}

// validate refuses a job that an agent cannot or must not do. It refuses a target that is not a
// URI, because that would be a directory on the agent's machine.
func (s *server) validate(in request) error {
	j := in.Job
	switch {
	case in.ID == "":
		return errors.New("the job has no id")
	case !j.Settings.IsURI():
		return errNotReachable(j.Settings)
	case j.Shares < 1 || j.Share < 0 || j.Share >= j.Shares:
		return fmt.Errorf("share %d of %d", j.Share, j.Shares)
	case len(j.Parts) == 0:
		return errors.New("the job has no parts")
	case j.MaxInFlight < 0 || j.Grace < 0 || j.WarmUp < 0 || j.CoolDown < 0 || j.Settings.PoolSize < 0 ||
		j.MaxInFlight > load.MaxUsers:
		return errors.New("a number of the job is out of bounds")
	}
	for _, p := range j.Parts {
		if _, err := s.Set.Find(p.Scenario); err != nil {
			return err
		}
		if err := p.Load.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// control tells the running job to start, to end its residents, or to stop.
func (s *server) control(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	j := s.job
	s.mu.Unlock()
	if j == nil || j.id != r.PathValue("id") {
		refuse(w, http.StatusNotFound, "there is no such job")
		return
	}
	switch r.PathValue("what") {
	case "start":
		j.started()
	case "leave":
		j.left()
	case "stop":
		j.cancel(errStopped)
	default:
		refuse(w, http.StatusNotFound, "a job can start, leave and stop")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
