package config

import (
	"math"
	"time"
)

// rule is the constraint on a single value. The zero rule allows every value of the type.
type rule struct {
	min, max int64 // of a number, a size, or a duration in nanoseconds; unbounded if both are 0
	zero     bool  // 0 is allowed as well
	step     int64 // the value must be a multiple of it, unless 0
	oneOf    *words
	about    string                   // describes each word of oneOf, to continue the comment of the setting; or ""
	needed   string                   // the problem of a missing value; "" if the setting is optional
	form     func(text string) string // returns what is wrong with a nonempty text, or ""
	name     bool                     // form is isName, except for names chosen by a control plane
	secret   bool                     // printed as Redacted
	single   bool                     // of one entry: sets of defaults do not have it
	resolved bool                     // says how the file is written; a Config that was read does not have it
}

// Bounds shared by several settings.
const (
	maxTimeout     = int64(10 * 365 * 24 * time.Hour) // a longer timeout is a mistake
	maxConnections = 1 << 30
	maxPort        = math.MaxUint16
	maxName        = 63
	maxForeignName = 1000
	maxText        = 64 << 10
	maxKeepAlive   = 127 // MAX_TCP_KEEPCNT
	maxRouteWeight = 1_000_000
)

var (
	timeout     = rule{min: int64(time.Millisecond), max: maxTimeout}
	orUnlimited = rule{min: int64(time.Millisecond), max: maxTimeout, zero: true}
	connections = rule{max: maxConnections}
	percent     = rule{max: 100}
	port        = rule{max: maxPort}
	ipv4Prefix  = rule{min: 1, max: 32}
	ipv6Prefix  = rule{min: 1, max: 128}
	filePath    = rule{form: isPath}
	// The kernel counts keep-alive in whole seconds, up to MAX_TCP_KEEPIDLE.
	keepAlive = rule{min: int64(time.Second), max: int64(32767 * time.Second), step: int64(time.Second)}
)

// rules has the rule of each setting that has one.
var rules = joined(joined(discoveryRules, setRules), map[string]rule{
	"Config.Ring":  {oneOf: newWords(Rings)},
	"Config.Loops": {max: 1024},
	// A shorter sleep costs more than it saves, and delays each byte by up to twice as much.
	"Config.MinWait": {min: int64(10 * time.Microsecond), max: int64(100 * time.Millisecond), zero: true},

	"Config.User":  {form: isAccount},
	"Config.Group": {form: isAccount},

	"Log.Level":  {oneOf: newWords(LogLevels)},
	"Log.Format": {oneOf: newWords(LogFormats)},

	"Metrics.WebConfigFile": filePath,
	"Metrics.Detail":        {oneOf: newWords(Details)},

	"Admin.Address":       {form: isAdminAddress},
	"Admin.WebConfigFile": filePath,
	"Admin.Mode":          {max: 0o777},
	"Admin.Owner":         {form: isAccount},
	"Admin.Group":         {form: isAccount},
	"Admin.DefaultRole":   {form: isRole},
	"Admin.OverridesFile": filePath,

	"UserRole.User":            {needed: "no user: write the name of the user that has the role"},
	"UserRole.Role":            {oneOf: newWords(Roles), needed: "no role: write read, operator or admin"},
	"StatusPage.Address":       {form: isAdminAddress},
	"StatusPage.WebConfigFile": filePath,
	"StatusPage.Role":          {oneOf: newWords(Roles)},

	"Limits.MaxConnections":  connections,
	"Limits.Memory":          {min: int64(16 * MiB), max: int64(1 << 20 * GiB), zero: true},
	"Rate.Connections":       connections,
	"Rate.Burst":             connections,
	"SourceRate.Connections": connections,
	"SourceRate.Burst":       connections,
	"SourceRate.IPv4Prefix":  ipv4Prefix,
	"SourceRate.IPv6Prefix":  ipv6Prefix,
	"SourceRate.Sources":     {min: 16, max: 1 << 24},

	"SourceConnections.Max":        connections,
	"SourceConnections.IPv4Prefix": ipv4Prefix,
	"SourceConnections.IPv6Prefix": ipv6Prefix,
	"SourceConnections.Sources":    {min: 16, max: 1 << 24},

	"Drain.Delay":   orUnlimited,
	"Drain.Spread":  orUnlimited,
	"Drain.Timeout": orUnlimited,

	"Upgrade.Timeout": orUnlimited,

	"Resolver.Servers":  {form: isResolver},
	"Resolver.Timeout":  timeout,
	"Resolver.Attempts": {min: 1, max: 100},

	"XDS.Servers":             {form: isControlPlane},
	"XDS.TokenFile":           filePath,
	"XDS.HoldBack":            orUnlimited,
	"XDS.HoldBackPercent":     {min: 1, max: 100},
	"XDS.LastGood":            filePath,
	"XDS.MaxAge":              orUnlimited,
	"XDS.Gather":              {max: int64(10 * time.Second)},
	"XDS.InitialFetchTimeout": orUnlimited,
	"XDSTLS.CA":               filePath,
	"XDSTLS.Cert":             filePath,
	"XDSTLS.Key":              filePath,
	"XDSTLS.ServerName":       {form: isServerHost},
	"XDSMetadata.Name":        {needed: "no name: write the name of the header", form: isHeader},
	"XDSMetadata.Value":       {secret: true},
	"XDSMetadata.File":        filePath,
	"XDSNodeMetadata.Name":    {needed: "no name: write what the control plane calls it"},
	"XDSReconnect.Min":        timeout,
	"XDSReconnect.Max":        timeout,

	"Config.Include":  {resolved: true},
	"Config.Defaults": {resolved: true},
	"Defaults.Name":   {form: isName},
	"Defaults.From":   {form: isName},
	"Listener.From":   {form: isName, single: true, resolved: true},
	"Backend.From":    {form: isName, single: true, resolved: true},

	"Discovery.DNS":        {single: true},
	"Discovery.Files":      {single: true},
	"Discovery.HTTP":       {single: true},
	"Discovery.Kubernetes": {single: true},

	"Listener.Name": {
		needed: "no name: logs and metrics need one", form: isName, name: true, single: true,
	},
	"Listener.Address":        {needed: "no address: write " + scheme + "HOST:PORT", single: true},
	"Listener.MaxConnections": connections,
	"Listener.OnLimit":        {oneOf: newWords(OnLimits)},

	"Listener.StartTLS":       {oneOf: newWords(StartTLSProtocols)},
	"Listener.InspectTimeout": timeout,
	"Listener.MaxClientHello": {min: int64(KiB), max: int64(64 * KiB)},

	"Socket.Mode":      {max: 0o777},
	"Socket.Owner":     {form: isAccount},
	"Socket.Group":     {form: isAccount},
	"Socket.Backlog":   {max: math.MaxInt32},
	"Socket.FastOpen":  {max: math.MaxUint16},
	"Socket.Interface": {form: isName},
	"Socket.MSS":       {min: 88, max: 32767, zero: true},
	"Socket.TOS":       {max: 255},

	"ClientKeepAlive.Mode":     {oneOf: newWords(KeepAliveModes)},
	"ClientKeepAlive.Idle":     keepAlive,
	"ClientKeepAlive.Interval": keepAlive,
	"ClientKeepAlive.Count":    {min: 1, max: maxKeepAlive},

	"Route.Name":              {form: isName, name: true},
	"Route.Transport":         {oneOf: newWords(Transports)},
	"Route.DestinationPorts":  {min: 1, max: maxPort},
	"Route.IdleTimeout":       orUnlimited,
	"Route.Lifetime":          orUnlimited,
	"WeightedBackend.Backend": {needed: "no backend: write the name of a backend"},
	"WeightedBackend.Weight":  {max: maxRouteWeight},

	"ByteRate.FromClient": {max: int64(1 << 20 * GiB)},
	"ByteRate.FromServer": {max: int64(1 << 20 * GiB)},
	"ByteRate.Burst":      {max: int64(1 << 20 * GiB)},

	"UDP.IdleTimeout": timeout,
	"UDP.Requests":    {max: math.MaxInt32},
	"UDP.Responses":   {max: math.MaxInt32},

	"ServerTLS.MinVersion":        {oneOf: newWords(TLSVersions)},
	"ServerTLS.MaxVersion":        {oneOf: newWords(TLSVersions)},
	"ServerTLS.ClientAuth":        {oneOf: newWords(ClientAuths)},
	"ServerTLS.ClientCA":          filePath,
	"ServerTLS.ClientCRL":         filePath,
	"ServerTLS.ClientSANs":        {form: isSAN},
	"ServerTLS.DenySANs":          {form: isDeniedSAN},
	"ServerTLS.TicketKeys":        filePath,
	"ServerTLS.HandshakeTimeout":  timeout,
	"Certificate.Cert":            {needed: "no certificate: write the path of its file, in PEM", form: isPath},
	"Certificate.Key":             filePath,
	"Certificate.KeyPasswordFile": filePath,
	"Certificate.OCSP":            filePath,
	"ClientTLS.StartTLS":          {oneOf: newWords(StartTLSProtocols)},
	"ClientTLS.ServerName":        {form: isAskedFor},
	"ClientTLS.SANs":              {form: isSAN},
	"ClientTLS.CRL":               filePath,
	"ClientTLS.CA":                filePath,
	"ClientTLS.Cert":              filePath,
	"ClientTLS.Key":               filePath,
	"ClientTLS.KeyPasswordFile":   filePath,
	"ClientTLS.MinVersion":        {oneOf: newWords(TLSVersions)},
	"ClientTLS.MaxVersion":        {oneOf: newWords(TLSVersions)},
	"ClientTLS.HandshakeTimeout":  timeout,

	"SendProxy.Version": {oneOf: newWords(ProxyVersions)},
	"SendProxy.TLVs":    {oneOf: newWords(ProxyTLVs)},

	"AccessLog.Path":     {form: isLogPath},
	"AccessLog.Syslog":   {oneOf: newWords(SyslogProtocols)},
	"AccessLog.Facility": {oneOf: newWords(SyslogFacilities)},
	"AccessLog.Tag":      {form: isTag},
	"AccessLog.Mode":     {max: 0o777},
	"AccessLog.Format":   {oneOf: newWords(AccessLogFormats)},
	"AccessLog.Fields":   {oneOf: accessLogFields},
	"AccessLog.Template": {form: isTemplate},
	"AccessLog.Interim":  {min: int64(time.Second), max: maxTimeout, zero: true},
	"AccessLog.Sample":   {min: 1, max: 1_000_000},
	"AccessLog.Refused":  {max: 100_000},
	"AccessLog.Queue":    {min: 16, max: 1 << 20},
	"LogTLS.CA":          filePath,
	"LogTLS.Cert":        filePath,
	"LogTLS.Key":         filePath,
	"LogTLS.ServerName":  {form: isServerHost},

	"Backend.Name": {
		needed: "no name: logs and metrics need one", form: isName, name: true, single: true,
	},
	"Backend.Servers":             {single: true},
	"Backend.MaxConnections":      connections,
	"Backend.Retries":             {max: 100},
	"Backend.RetryDelay":          orUnlimited,
	"Backend.ConnectTimeout":      timeout,
	"Backend.TotalConnectTimeout": orUnlimited,
	"Backend.FirstByteTimeout":    orUnlimited,
	"Backend.Hold":                orUnlimited,
	"Backend.IdleTimeout":         orUnlimited,
	"Backend.HalfCloseTimeout":    orUnlimited,
	"Backend.Lifetime":            orUnlimited,
	"Backend.LifetimeJitter":      percent,
	// The kernel takes milliseconds in 32 bits.
	"Backend.UserTimeout": {min: int64(time.Millisecond), max: int64(24 * 24 * time.Hour), zero: true},
	"Backend.Buffer":      {min: int64(4 * KiB), max: int64(16 * MiB)},

	"Server.Address":        {needed: "no address: write " + scheme + "HOST:PORT"},
	"Server.Name":           {form: isServerName},
	"Server.Weight":         {max: 1000},
	"Server.Priority":       {max: 1000},
	"Server.Locality":       {form: isName, name: true},
	"Server.MaxConnections": connections,
	"Server.State":          {oneOf: newWords(States)},

	"ServerCheck.Port":      port,
	"ServerCheck.Send":      {form: isShort, secret: true},
	"ServerCheck.SendHex":   {form: isHex, secret: true},
	"ServerCheck.Expect":    {form: isShort},
	"ServerCheck.ExpectHex": {form: isHex},
	"ServerAgent.Port":      port,

	"Kubernetes.Address":   {form: isAPIServer},
	"Kubernetes.CAFile":    filePath,
	"Kubernetes.TokenFile": filePath,
	"Kubernetes.CertFile":  filePath,
	"Kubernetes.KeyFile":   filePath,
	"Kubernetes.Timeout":   timeout,

	"Balance.Policy":         {oneOf: newWords(Policies), about: describePolicies()},
	"Balance.LoadFactor":     {min: 101, max: 100_000, zero: true},
	"Balance.IPv4Prefix":     ipv4Prefix,
	"Balance.IPv6Prefix":     ipv6Prefix,
	"Balance.Locality":       {form: isName, name: true},
	"Balance.Backup":         {oneOf: newWords(BackupUses)},
	"Balance.SlowStart":      orUnlimited,
	"Balance.Subset":         {max: 1 << 20},
	"Balance.PanicThreshold": percent,
	"Sticky.Time":            {min: int64(time.Second), max: int64(365 * 24 * time.Hour), zero: true},
	"Sticky.Max":             {min: 16, max: 1 << 20},

	"Check.Interval":      orUnlimited,
	"Check.FastInterval":  orUnlimited,
	"Check.DownInterval":  orUnlimited,
	"Check.Timeout":       timeout,
	"Check.Rise":          {min: 1, max: 1000},
	"Check.Fall":          {min: 1, max: 1000},
	"Check.Initial":       {oneOf: newWords(InitialStates)},
	"Check.Port":          port,
	"Check.Protocol":      {oneOf: newWords(CheckProtocols)},
	"Check.User":          {form: isCredential},
	"Check.Password":      {form: isCredential, secret: true},
	"Check.Database":      {form: isCredential},
	"Check.Role":          {oneOf: newWords(ServerRoles)},
	"Check.Send":          {form: isShort, secret: true},
	"Check.SendHex":       {form: isHex, secret: true},
	"Check.Expect":        {form: isShort},
	"Check.ExpectHex":     {form: isHex},
	"Check.Steps":         {secret: true},
	"Check.Subset":        {max: 1 << 20},
	"Check.TLSServerName": {form: isServerHost},

	"CheckStep.Send":      {form: isShort, secret: true},
	"CheckStep.SendHex":   {form: isHex, secret: true},
	"CheckStep.Expect":    {form: isShort},
	"CheckStep.ExpectHex": {form: isHex},

	"Agent.Port":     port,
	"Agent.Interval": timeout,
	"Agent.Timeout":  timeout,
	"Agent.Send":     {form: isShort, secret: true},

	"Ejection.Failures":   {max: 1 << 20},
	"Ejection.Time":       timeout,
	"Ejection.MaxTime":    timeout,
	"Ejection.MaxPercent": percent,

	"Queue.Size":    {max: 1 << 20},
	"Queue.Timeout": timeout,

	"RetryBudget.Percent": {max: 1000},
	"RetryBudget.Min":     {max: 1 << 20},

	"KeepAlive.Idle":     {min: keepAlive.min, max: keepAlive.max, step: keepAlive.step, zero: true},
	"KeepAlive.Interval": keepAlive,
	"KeepAlive.Count":    {min: 1, max: maxKeepAlive},
})
