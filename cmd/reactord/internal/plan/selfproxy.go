package plan

func (m *merger) selfProxying() {}
