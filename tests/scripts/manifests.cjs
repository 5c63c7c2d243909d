// Checks Kubernetes manifests: each object against its schema, and what the objects must agree in.
// NODE_PATH=MODULES node manifests.cjs FILE…
const fs = require('fs');
const yaml = require('yaml');

const problems = [];

// The value, with the path of each member that is read noted in `read`.
function watched(value, read, path = '') {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get(target, name) {
      if (typeof name !== 'string') return target[name];
      read.add(`${path}/${name}`);
      return watched(target[name], read, `${path}/${name}`);
    }
  });
}

function* paths(value, path = '') {
  if (typeof value !== 'object' || value === null) return;
  for (const name of Object.keys(value)) {
    yield `${path}/${name}`;
    yield* paths(value[name], `${path}/${name}`);
  }
}

const capital = word => word[0].toUpperCase() + word.slice(1);

// The schemas allow members that they do not know, and Kubernetes drops these: a validator never reads
// them.
function check(object) {
  const [version, group] = object.apiVersion.split('/').reverse();
  const name = `IoK8sApi${capital(group ?? 'core')}${capital(version)}${object.kind}`;
  const {validate} = require(`${process.env.NODE_PATH}/kubernetes-models/_schemas/${name}`);
  const read = new Set();
  if (!validate(watched(object, read)))
    throw new Error(validate.errors.map(error => `${error.instancePath} ${error.message ?? error.keyword}`).join('; '));
  for (const path of paths(object))
    if (!read.has(path)) throw new Error(`unknown member ${path}`);
}

const objects = {};
for (const file of process.argv.slice(2)) {
  for (const document of yaml.parseAllDocuments(fs.readFileSync(file, 'utf8'))) {
    for (const error of document.errors) problems.push(`${file}: ${error.message}`);
    const object = document.toJS();
    try {
      check(object);
    } catch (error) {
      problems.push(`${file}: ${error.message}`);
    }
    objects[object.kind] = object;
  }
}

const {Deployment, Service, PodDisruptionBudget, ConfigMap} = objects;
function wanted(what, holds) { if (!holds) problems.push(`not so: ${what}`); }
const pod = Deployment.spec.template;
const [container] = pod.spec.containers;
const labels = JSON.stringify(pod.metadata.labels);
wanted('all selectors select the pods',
       [Deployment.spec.selector.matchLabels, Service.spec.selector, PodDisruptionBudget.spec.selector.matchLabels]
           .every(selector => JSON.stringify(selector) === labels));
wanted('the service targets a port of the container',
       container.ports.some(port => port.name === Service.spec.ports[0].targetPort));
wanted('probes of /healthz and /readyz',
       container.livenessProbe.httpGet.path === '/healthz' && container.readinessProbe.httpGet.path === '/readyz');
wanted('a read-only root and no root user',
       container.securityContext.readOnlyRootFilesystem && pod.spec.securityContext.runAsNonRoot &&
           pod.spec.securityContext.runAsUser > 0);
wanted('the mounted configuration is the ConfigMap',
       pod.spec.volumes[0].configMap.name === ConfigMap.metadata.name && 'karmad.conf' in ConfigMap.data);
const seconds = key => Number(new RegExp(`${key} = (\\d+)s`).exec(ConfigMap.data['karmad.conf'])[1]);
wanted('preStop, drain_delay and shutdown_timeout end before the pod is killed',
       Number(container.lifecycle.preStop.exec.command[1]) + seconds('drain_delay') + seconds('shutdown_timeout') <
           pod.spec.terminationGracePeriodSeconds);
wanted('a disruption budget that lets a node be drained',
       PodDisruptionBudget.spec.minAvailable < Deployment.spec.replicas);

for (const problem of problems) console.error(problem);
if (problems.length) process.exit(1);
console.log(`${Object.keys(objects).join(', ')}: no problems`);
