package admin

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"time"
)

// pageFiles holds the status page: static files, which the browser fills from [GetSnapshot].
//
//go:embed page/*.html page/*.css page/*.js page/*.svg
var pageFiles embed.FS

// pagePolicy restricts the page to what the API serves: no inline code or style, no other site, no frame around it.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// mountPage serves the page at / and its other files below /page/.
func mountPage(mux *http.ServeMux) {
	files, _ := fs.ReadDir(pageFiles, "page") // it is embedded
	for _, f := range files {
		text, _ := fs.ReadFile(pageFiles, path.Join("page", f.Name()))
		at := "/page/" + f.Name()
		if f.Name() == "index.html" {
			at = "/{$}"
		}
		mux.Handle("GET "+at, pageFile(f.Name(), text))
	}
}

// pageFile serves a file. The browser revalidates it each time, since it changes with the program.
func pageFile(name string, text []byte) http.Handler {
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	kind := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}[path.Ext(name)]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("ETag", tag)
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
	})
}
