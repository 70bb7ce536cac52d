package daemon

import (
	"errors"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/daemon/upgrade"
	"github.com/reactord/reactord/cmd/reactord/internal/envoy"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"go.uber.org/zap"
)

// endpoints has the HTTP servers of the process, which are nil without an address.
type endpoints struct {
	log     *zap.Logger
	metrics *admin.Server // of metrics, /livez and /readyz
	api     *admin.API
	page    *admin.API   // its second address
	envoy   *envoy.Admin // never nil; without a bootstrap it listens nowhere
}

// listen starts the servers of metrics and of the admin API. A second call does nothing.
func (e *endpoints) listen(f *plan.File, in *Inherited) (err error) {
	c := f.Config
	if !c.Metrics.Address.IsZero() && e.metrics == nil {
		if e.metrics, err = e.listenMetrics(f, in); err != nil {
			return err
		}
	}
	if c.Admin.Address != "" && e.api == nil {
		if e.api, err = e.listenAPI(c.Admin, adminName(c), in); err != nil {
			return err
		}
	}
	if c.Admin.Page.Address != "" && e.page == nil {
		e.page, err = e.listenAPI(c.Admin.Page.Access(), pageName(c), in)
	}
	return err
}

func (e *endpoints) listenMetrics(f *plan.File, in *Inherited) (*admin.Server, error) {
	m := f.Config.Metrics
	l, err := in.listener(metricsName(f.Config))
	if l == nil && err == nil {
		return admin.Listen(f.Address(m.Address).String(), m.WebConfigFile, e.log)
	}
	return admin.TakeOver(l, m.WebConfigFile, e.log), err
}

func (e *endpoints) listenAPI(a config.Admin, name string, in *Inherited) (*admin.API, error) {
	l, err := in.listener(name)
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return admin.ListenAPI(a, e.log)
	}
	return admin.TakeOverAPI(a, l, e.log)
}

// sockets returns copies of the listening sockets. The caller closes them, also after an error. c is the configuration
// of the start: a reload changes no address.
func (e *endpoints) sockets(c *config.Config) (all []upgrade.Socket, err error) {
	if e.metrics != nil {
		fd, err := e.metrics.Dup()
		if err != nil {
			return all, err
		}
		all = append(all, upgrade.Socket{Name: metricsName(c), FD: fd})
	}
	if e.api != nil {
		fd, err := e.api.Dup()
		if err != nil {
			return all, err
		}
		all = append(all, upgrade.Socket{Name: adminName(c), FD: fd})
	}
	if e.page != nil {
		fd, err := e.page.Dup()
		if err != nil {
			return all, err
		}
		all = append(all, upgrade.Socket{Name: pageName(c), FD: fd})
	}
	return all, nil
}

// leave stops the servers, and leaves the unix sockets to a successor.
func (e *endpoints) leave() {
	e.envoy.Close()
	var errs []error
	if e.api != nil {
		errs = append(errs, e.api.Leave())
	}
	if e.page != nil {
		errs = append(errs, e.page.Leave())
	}
	if e.metrics != nil {
		errs = append(errs, e.metrics.Close())
	}
	if err := errors.Join(errs...); err != nil {
		e.log.Warn("HTTP server failed to close", zap.Error(err))
	}
}

// close stops the servers.
func (e *endpoints) close() error {
	e.envoy.Close()
	var errs []error
	if e.api != nil {
		errs = append(errs, e.api.Close())
	}
	if e.page != nil {
		errs = append(errs, e.page.Close())
	}
	if e.metrics != nil {
		errs = append(errs, e.metrics.Close())
	}
	return errors.Join(errs...)
}
