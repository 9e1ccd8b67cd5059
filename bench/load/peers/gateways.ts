/**
 * Gateways of models that are measured beside Weir where they are installed; bench/load/peers/README.md says how. They
 * word answers in their own way, and are asked for models only.
 */
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Peer, Setup } from './peer.ts'
import { findProgram, versionOf } from './program.ts'

/** Portkey's gateway (npm, @portkey-ai/gateway), whose program has a name that many have. */
export const portkey: Peer = {
  name: 'portkey',
  asks: 'models',
  find() {
    const program = findProgram('gateway')
    const file = program === null ? '' : realpathSync(program)
    if (!file.includes('@portkey-ai')) return { missing: 'portkey (@portkey-ai/gateway) is not on the PATH' }
    return { program: process.execPath, args: [file] }
  },
  version({ args }) {
    const text = readFileSync(join(dirname(dirname(args[0]!)), 'package.json'), 'utf8')
    return `portkey ${(JSON.parse(text) as { version: string }).version}`
  },
  configure: ({ port }) => [`--port=${port}`, '--headless'],
  /** All of its settings come with each request. */
  fields({ upstreamPort, model }) {
    const provider = model === 'converted' ? 'anthropic' : 'openai'
    return (
      `x-portkey-provider: ${provider}\r\nx-portkey-custom-host: http://127.0.0.1:${upstreamPort}/v1\r\n` +
      'x-portkey-forward-headers: x-bench\r\n'
    )
  }
}

/** LiteLLM's proxy (PyPI, litellm[proxy]). */
export const litellm: Peer = {
  name: 'litellm',
  asks: 'models',
  find() {
    const program = findProgram('litellm')
    return program === null ? { missing: 'litellm is not installed' } : { program, args: [] }
  },
  version: (command) => versionOf(command, '--version'),
  configure(setup) {
    const path = join(setup.folder, 'litellm.json')
    writeFileSync(path, JSON.stringify(litellmConfiguration(setup)))
    const { port, threads } = setup
    return ['--config', path, '--host', '127.0.0.1', '--port', `${port}`, '--num_workers', `${threads}`]
  }
}

/** JSON is YAML. No key, as no other peer wants one here; no log of requests, no calls home. */
function litellmConfiguration({ upstreamPort, model, isAtOnce }: Setup): object {
  const at = `http://127.0.0.1:${upstreamPort}`
  const provider =
    model === 'converted' ? { model: 'anthropic/m', api_base: at } : { model: 'openai/m', api_base: `${at}/v1` }
  const more = isAtOnce ? { extra_headers: { 'X-Bench': 'stream' } } : {}
  return {
    model_list: [{ model_name: 'm', litellm_params: { ...provider, api_key: 'none', ...more } }],
    litellm_settings: { telemetry: false, num_retries: 0, request_timeout: 60, set_verbose: false },
    general_settings: {
      dangerously_permit_weak_or_unset_master_key: true,
      disable_spend_logs: true,
      disable_error_logs: true
    }
  }
}
