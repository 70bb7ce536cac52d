package admin

import (
	"net/http"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Endpoint is an operation of the API: a method on a path. In has the parameters, as fields with a tag path or query,
// and the body as the field Body. Out is the answer. The server's handlers, [Client], the OpenAPI document and the
// documentation are all made from it.
type Endpoint[In, Out any] struct {
	Method string
	Path   string // its parameters are in braces
	Name   string // identifies it
	Doc    string // for people: sentences; the first is its title
	Code   int    // of the answer; 0: 200
	Media  string // the content type of a Raw answer
}

// Raw is an answer that is not JSON.
type Raw []byte

// The endpoints.
var (
	GetStatus = Endpoint[None, Status]{http.MethodGet, "/v1/status", "getStatus",
		"The state of the daemon.", 0, ""}
	GetSnapshot = Endpoint[SnapshotQuery, Snapshot]{http.MethodGet, "/v1/snapshot", "getSnapshot",
		"All counters, and what happened last. The status page is drawn from it.", 0, ""}
	GetPlan = Endpoint[None, Plan]{http.MethodGet, "/v1/plan", "getPlan",
		"The plan in force. Each server says where it comes from.", 0, ""}
	GetConfig = Endpoint[None, Raw]{http.MethodGet, "/v1/config", "getConfig",
		"The plan in force as a configuration file. Each value has a comment that says where it comes from.",
		0, "application/yaml"}
	ListListeners = Endpoint[None, Listeners]{http.MethodGet, "/v1/listeners", "listListeners",
		"The listeners, with their counters.", 0, ""}
	ListBackends = Endpoint[None, Backends]{http.MethodGet, "/v1/backends", "listBackends",
		"The backends.", 0, ""}
	ListServers = Endpoint[ServerQuery, Servers]{http.MethodGet, "/v1/servers", "listServers",
		"The servers, with their state and health.", 0, ""}
	GetServer = Endpoint[ServerKey, stats.Server]{http.MethodGet, serverPath, "getServer",
		"A server.", 0, ""}
	SetServer = Endpoint[ServerUpdate, stats.Server]{http.MethodPatch, serverPath, "setServer",
		"Override the state or the weight of a server. The override lasts until it is reset, also over upgrades.", 0, ""}
	ResetServer = Endpoint[ServerKey, stats.Server]{http.MethodDelete, serverPath + "/override", "resetServer",
		"End the override of a server. It has the state and the weight of its source again.", 0, ""}
	ListConnections = Endpoint[ConnectionQuery, Connections]{http.MethodGet, "/v1/connections", "listConnections",
		"The open connections. The answer is a page; the next one begins at next.", 0, ""}
	CloseConnections = Endpoint[CloseQuery, Closed]{http.MethodDelete, "/v1/connections", "closeConnections",
		"Close connections. They are reset on both sides.", 0, ""}
	CloseConnection = Endpoint[ConnectionKey, Closed]{http.MethodDelete, "/v1/connections/{id}", "closeConnection",
		"Close a connection. It is reset on both sides.", 0, ""}
	PostReload = Endpoint[None, Reload]{http.MethodPost, "/v1/reload", "reload",
		"Read the configuration file again. If anything is wrong with it, the answer is 422, and nothing has changed.", 0, ""}
	GetDrain = Endpoint[None, Drain]{http.MethodGet, "/v1/drain", "getDrain",
		"The progress of a drain.", 0, ""}
	PostDrain = Endpoint[DrainQuery, Drain]{http.MethodPost, "/v1/drain", "drain",
		"Drain the process: it stops accepting, and exits when all connections have ended.", http.StatusAccepted, ""}
	DeleteDrain = Endpoint[None, Drain]{http.MethodDelete, "/v1/drain", "undrain",
		"Undo a drain while connections are still accepted: the process is ready again.", 0, ""}
	PostReopen = Endpoint[None, None]{http.MethodPost, "/v1/access-log/reopen", "reopenAccessLog",
		"Open the file of the access log anew, as SIGUSR1 does. So do the old processes of upgrades.", 0, ""}
	PostUpgrade = Endpoint[None, Upgrade]{http.MethodPost, "/v1/upgrade", "upgrade",
		"Start the program anew. The new process takes over the listeners, and this one drains.", 0, ""}
	GetLogLevel = Endpoint[None, LogLevel]{http.MethodGet, "/v1/log-level", "getLogLevel",
		"The least severe level that is logged.", 0, ""}
	SetLogLevel = Endpoint[LogLevelUpdate, LogLevel]{http.MethodPut, "/v1/log-level", "setLogLevel",
		"Set the least severe level that is logged, until the file has another one than before, or the process ends.", 0, ""}
	ListLoops = Endpoint[None, Loops]{http.MethodGet, "/v1/loops", "listLoops",
		"The loops, with their counters and their last slow turns.", 0, ""}
	GetInFlight = Endpoint[None, Raw]{http.MethodGet, "/v1/loops/in-flight", "getInFlight",
		"What is in flight on each loop, as text for people. A loop that does not answer says for how long it is blocked.",
		0, "text/plain; charset=utf-8"}
	ListProfiles = Endpoint[None, Profiles]{http.MethodGet, "/v1/profiles", "listProfiles",
		"The profiles of the process.", 0, ""}
	PostProfile = Endpoint[ProfileQuery, Raw]{http.MethodPost, "/v1/profiles/{name}", "recordProfile",
		"Record a profile of the process, for go tool pprof; trace is for go tool trace.", 0, "application/octet-stream"}
	ListDiscovery = Endpoint[None, Discovery]{http.MethodGet, "/v1/discovery", "listDiscovery",
		"The sources of discovery.", 0, ""}
	GetXDS = Endpoint[None, stats.ControlPlane]{http.MethodGet, "/v1/xds", "getXDS",
		"The control plane, and what has become of each resource that it has sent.", 0, ""}
	GetOpenAPI = Endpoint[None, Raw]{http.MethodGet, "/v1/openapi.json", "getOpenAPI",
		"This API, as an OpenAPI 3.1 document.", 0, "application/json"}
)

const serverPath = "/v1/backends/{backend}/servers/{server}"
