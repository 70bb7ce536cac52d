// What an operator may do from the page. Each action asks first, and shows why it was refused.

async function ask(question, method, path, body) {
  if (!window.confirm(question)) return;
  try {
    const answer = await fetch(path, body
      ? { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) } : { method });
    if (!answer.ok) window.alert((await answer.json()).detail);
  } catch (e) {
    window.alert(`No answer: ${e.message}`);
  }
}

const path = (s) => `v1/backends/${encodeURIComponent(s.backend)}/servers/${encodeURIComponent(s.name)}`;
const named = (s) => `${s.name} of the backend ${s.backend}`;

// mayOperate says whether a role of the admin API allows these actions. The API decides it again.
export const mayOperate = (role) => role === 'operator' || role === 'admin';

// SERVER_ACTIONS are those of a server.
export const SERVER_ACTIONS = [
  { name: 'Drain', when: (s) => s.admin_state === 'up',
    run: (s) => ask(`Drain ${named(s)}? It gets no new connections; the open ones stay.`, 'PATCH', path(s),
      { state: 'drain' }) },
  { name: 'Ready', when: (s) => s.admin_state !== 'up',
    run: (s) => s.overridden
      ? ask(`Remove the override of ${named(s)}? It returns to the state of its source.`, 'DELETE',
        `${path(s)}/override`)
      : ask(`Set ${named(s)} up?`, 'PATCH', path(s), { state: 'up' }) },
  { name: 'Close', when: (s) => s.connections > 0,
    run: (s) => ask(`Reset the ${s.connections} open connections to ${named(s)}?`, 'DELETE',
      `v1/connections?${new URLSearchParams({ backend: s.backend, server: s.name })}`) },
];
