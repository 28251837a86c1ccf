package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const limit = 3 * time.Minute

// chromium returns the path of the browser. It skips the test if there is no browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{
		os.Getenv("SHEAF_CHROMIUM"), "chromium",
		"chromium-browser", "google-chrome", "chrome",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium: install it, or name it in SHEAF_CHROMIUM")
	return ""
}

// reports runs the tests of sim/report and returns the reports that they write.
func reports(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "test", "-count=1", "-run", "^TestHTML$", "./sim/report")
	cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "SHEAF_REPORTS="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write the reports: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(files) < 4 {
		t.Fatalf("the reports are %v: %v", files, err)
	}
	return files
}

// browser starts Chromium with an empty profile.
func browser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return ctx
}

// heard records the requests and the error messages of a page.
type heard struct {
	mu       sync.Mutex
	requests []string
	errors   []string
}

func listen(t *testing.T, ctx context.Context) *heard {
	t.Helper()
	h := &heard{}
	err := chromedp.Listen(ctx, func(event any) {
		h.mu.Lock()
		defer h.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			h.requests = append(h.requests, e.Request.URL)
		case *runtime.EventExceptionThrown:
			h.errors = append(h.errors, e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			h.errors = append(h.errors, fmt.Sprintf("console.%s", e.Type))
		case *log.EventEntryAdded:
			h.errors = append(h.errors, e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// picture holds the findings of the script inspect about the charts of a page.
type picture struct {
	Charts     int      `json:"charts"`
	Faults     []string `json:"faults"`
	Background string   `json:"background"`
	Ink        string   `json:"ink"`
	Overflow   float64  `json:"overflow"`
}

// inspect is a script that looks for faults of charts: no paths, paths or words outside of the
// chart, and words that overlap.
const inspect = `(() => {
  const faults = [], svgs = [...document.querySelectorAll(".chart svg")];
  svgs.forEach((svg) => {
    const name = svg.getAttribute("aria-label"), box = svg.getBoundingClientRect();
    if (svg.querySelectorAll("path").length < 2) faults.push(name + ": nothing is drawn");
    if (box.width < 200 || box.height < 80) faults.push(name + ": it is " + box.width + " wide and " + box.height + " high");
    for (const shape of svg.querySelectorAll("path, text")) {
      const r = shape.getBoundingClientRect();
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) {
        faults.push(name + ": " + (shape.textContent || "a path") + " is cut: " + [r.left - box.left, box.right - r.right, r.top - box.top, box.bottom - r.bottom]);
      }
    }
    const words = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
    words.forEach(([a, p], i) => words.slice(i + 1).forEach(([b, q]) => {
      if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3) faults.push(name + ": " + a + " and " + b + " are on top of each other");
    }));
  });
  const text = document.querySelector(".chart svg text");
  return {
    charts: svgs.length, faults, background: getComputedStyle(document.body).backgroundColor,
    ink: text ? getComputedStyle(text).fill : "", overflow: document.documentElement.scrollWidth - innerWidth,
  };
})()`

// TestReports opens each report in each colour scheme and width.
func TestReports(t *testing.T) {
	ctx := browser(t)
	// charts is the number of charts of each report: 4 for each scenario with latencies, 1 for the
	// steps of a scenario, 1 overview of several scenarios, 3 for a server, and 3 for each compared
	// pair.
	charts := map[string]int{"one": 14, "two": 34, "designs": 17, "long": 14, "spoilt": 14, "resident": 6, "empty": 0}
	for _, file := range reports(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		seen := map[string]string{}
		for _, scheme := range []string{"light", "dark"} {
			for width, label := range map[int64]string{1280: "wide", 390: "narrow"} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, scheme, label), func(t *testing.T) {
					p := open(t, ctx, file, scheme, width)
					if p.Charts != charts[name] {
						t.Errorf("%d charts, want %d", p.Charts, charts[name])
					}
					for _, fault := range p.Faults {
						t.Error(fault)
					}
					if p.Overflow > 0 {
						t.Errorf("the page is %.0f pixels wider than the window", p.Overflow)
					}
					if other, ok := seen[p.Background]; ok && other != scheme {
						t.Errorf("light and dark have the same background, %s", p.Background)
					}
					seen[p.Background] = scheme
				})
			}
		}
	}
}

// open opens a report in a new tab and inspects it.
func open(t *testing.T, parent context.Context, file, scheme string, width int64) (p picture) {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	defer cancel()
	h := listen(t, ctx)
	url := "file://" + filepath.ToSlash(file)
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{
		Name:  "prefers-color-scheme",
		Value: scheme,
	}}}
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	if err == nil {
		_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	}
	if err == nil {
		_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, media)
	}
	if err == nil {
		err = chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(url),
			chromedp.WaitReady(chromedp.CSS("footer")))
	}
	if err == nil {
		p, err = chromedp.Run(ctx, chromedp.Evaluate[picture](inspect))
	}
	if err != nil {
		t.Fatal(err)
	}
	if p.Charts > 0 {
		readOut(t, ctx)
	}
	if dir := os.Getenv("SHEAF_SCREENSHOTS"); dir != "" {
		shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir,
			fmt.Sprintf("%s-%s-%d.png", strings.TrimSuffix(filepath.Base(file), ".html"), scheme, width))
		if err := os.WriteFile(to, shot, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, request := range h.requests {
		if request != url && !strings.HasPrefix(request, "data:") {
			t.Errorf("it asked for %s", request)
		}
	}
	if len(h.requests) == 0 {
		t.Error("no request was seen, not even that of the file: the test does not listen")
	}
	for _, complaint := range h.errors {
		t.Errorf("it complained: %s", complaint)
	}
	return p
}

// readOut moves the pointer over a chart. The chart must show the numbers of the line that is
// nearest to the pointer.
func readOut(t *testing.T, ctx context.Context) {
	t.Helper()
	shown, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(() => {
  const svg = [...document.querySelectorAll(".chart svg")].find((s) => s.getAttribute("aria-label") !== "Ratios"), box = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }));
  return svg.closest(".chart").querySelector(".tip").innerText;
})()`))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(shown, "percentile") && !strings.Contains(shown, "second") {
		t.Errorf("the read-out is %q", shown)
	}
}
