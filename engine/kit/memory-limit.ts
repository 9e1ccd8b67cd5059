/** How much memory this process may use. */
import { totalmem } from 'node:os'

/** Bytes: what the container allows (cgroup limits of either version), or what the machine has. */
export function memoryLimit(constrained = process.constrainedMemory(), total = totalmem()): number {
  // Without a limit it is 0, or as large as a number of the kernel can be.
  return constrained > 0 && constrained < total ? constrained : total
}
