/** Starts the canonical backend: nginx for the fixed answers where it is installed, the own server for streams. */
import { fileURLToPath } from 'node:url'
import { writeBackend } from './backend/nginx.ts'
import { findProgram } from './peers/program.ts'
import { freePort } from './ports.ts'
import { start } from './processes.ts'

export interface Backend {
  /** Port that answers /1k, /4k and /1m, and any other path as /1k. */
  readonly fixedPort: number
  /** Port that answers /sse. */
  readonly streamPort: number
  /** Port of the gRPC server. */
  readonly grpcPort: number
  /** What answers on fixedPort: 'nginx' or 'own'. */
  readonly kind: string
  stop(): Promise<void>
}

/** `folder` is empty and stays until stop(). `nginx`: null forces the own server. */
export async function startBackend(
  folder: string,
  cores: string | null,
  nginx: string | null = findProgram('nginx')
): Promise<Backend> {
  const server = fileURLToPath(new URL('./backend/server.ts', import.meta.url))
  const own = await start({ program: process.execPath, args: [server] }, cores)
  const streamPort = Number(await own.firstLine())
  const calls = fileURLToPath(new URL('./backend/grpc.ts', import.meta.url))
  const grpc = await start({ program: process.execPath, args: ['--disable-warning=ExperimentalWarning', calls] }, cores)
  const grpcPort = Number(await grpc.firstLine())
  const stop = async () => {
    await Promise.all([own.stop(), grpc.stop()])
  }
  if (nginx === null) return { fixedPort: streamPort, streamPort, grpcPort, kind: 'own', stop }
  const fixedPort = await freePort()
  const args = ['-c', writeBackend(folder, fixedPort), '-p', folder, '-e', 'stderr']
  const fixed = await start({ program: nginx, args }, cores)
  return {
    fixedPort,
    streamPort,
    grpcPort,
    kind: 'nginx',
    async stop() {
      await Promise.all([stop(), fixed.stop()])
    }
  }
}
