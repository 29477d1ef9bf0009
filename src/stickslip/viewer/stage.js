// -- the stage: a film in space, drawn by three.js -------------------------------------------------------------------------
// Solids are instances of a few unit shapes, so that thousands of spheres cost one call; a frame only writes matrices.
function makeStage(data, runs, canvas, tools) {
  const T = vendor, v3 = (x = 0, y = 0, z = 0) => new T.Vector3(x, y, z);
  const low = v3(...data.low), high = v3(...data.high), middle = low.clone().add(high).multiplyScalar(0.5);
  const size = Math.max(high.clone().sub(low).length(), 1e-12), symbol = data.symbol, planar = data.planar;
  // Without a graphics card every pixel and triangle counts.
  const probe = document.createElement("canvas").getContext("webgl2"), told = probe && probe.getExtension("WEBGL_debug_renderer_info");
  const software = !!told && /swiftshader|llvmpipe|software/i.test(probe.getParameter(told.UNMASKED_RENDERER_WEBGL));
  const solidCount = Math.max(...runs.map(run => run.solids.length)), sparing = software && solidCount > 40;
  const renderer = new T.WebGLRenderer({canvas, antialias: !sparing, preserveDrawingBuffer: true, powerPreference: "high-performance"});
  renderer.debug.checkShaderErrors = false;   // asking would wait for every shader in turn: a third of the time to the first picture
  renderer.shadowMap.enabled = tools.shadows && !sparing;
  renderer.shadowMap.type = T.PCFShadowMap;
  const scene = new T.Scene(), camera = new T.PerspectiveCamera(planar ? 8 : 34, 1, size / 500, size * 100);
  const upward = planar ? v3(0, 1, 0) : v3(...data.up), upright = new T.Quaternion();   // from z to what is up in space
  if (!planar) upright.setFromUnitVectors(v3(0, 0, 1), upward);
  camera.up.copy(upward);
  const controls = new T.OrbitControls(camera, canvas);
  controls.enableDamping = false;
  controls.zoomToCursor = true;
  controls.addEventListener("change", () => tools.redraw());

  // Light: a soft sky and a sun that throws shadows.
  const sky = new T.HemisphereLight(0xffffff, 0xb8c2cc, 1.7), sun = new T.DirectionalLight(0xffffff, 2.1);
  const from = planar ? v3(-0.35, 0.55, 1.0) : v3(-0.45, -0.55, 1.0).applyQuaternion(upright);
  sun.position.copy(middle).addScaledVector(from.normalize(), size * 2);
  sun.target.position.copy(middle);
  sun.castShadow = tools.shadows && !sparing;
  sun.shadow.mapSize.set(software ? 1024 : 2048, software ? 1024 : 2048);
  Object.assign(sun.shadow.camera, {left: -size * 0.75, right: size * 0.75, top: size * 0.75, bottom: -size * 0.75, near: size * 0.5, far: size * 4});
  sun.shadow.intensity = 0.75; sun.shadow.bias = -0.0008; sun.shadow.normalBias = symbol * (software ? 0.2 : 0.1);   // one or two texels
  scene.add(sky, sun, sun.target);

  // -- materials -----------------------------------------------------------------------------------------------------
  const materials = [], lines = [];
  let areas = 0;
  const tones = {body: "--body", other: "--other", third: "--third", ink: "--dark", faint: "--faint"};
  function material(tone, ghost, options = {}) {
    const made = new T.MeshLambertMaterial({transparent: ghost, opacity: ghost ? 0.32 : 1, depthWrite: !ghost, ...options});
    materials.push([made, tones[tone] || "--soft"]);
    return made;
  }
  function fatLine(tone, width, points, ghost) {
    const paint = new T.LineMaterial({linewidth: width, transparent: ghost, opacity: ghost ? 0.4 : 1});
    if (!planar) Object.assign(paint, {polygonOffset: true, polygonOffsetFactor: -Math.min(areas + 1, 9), polygonOffsetUnits: -40});   // before the areas on which they lie
    lines.push(paint); materials.push([paint, tones[tone] || "--soft"]);
    const geometry = new T.LineGeometry(), line = new T.Line2(geometry, paint);
    geometry.setPositions(points);
    line.frustumCulled = false;
    return line;
  }
  // Two shades show how balls and wheels turn.
  function marked(geometry, dark) {
    const place = geometry.attributes.position, colors = new Float32Array(place.count * 3);
    for (let k = 0; k < place.count; k++) colors.fill(dark(place.getX(k), place.getY(k), place.getZ(k)) ? 0.62 : 1, 3 * k, 3 * k + 3);
    geometry.setAttribute("color", new T.BufferAttribute(colors, 3));
    return geometry;
  }
  function faces(geometry) { return geometry.index ? geometry.toNonIndexed() : geometry; }
  function perFace(geometry, dark) {   // one shade per triangle
    const flat = faces(geometry), place = flat.attributes.position, colors = new Float32Array(place.count * 3);
    for (let k = 0; k < place.count; k += 3) {
      const x = (place.getX(k) + place.getX(k + 1) + place.getX(k + 2)) / 3, y = (place.getY(k) + place.getY(k + 1) + place.getY(k + 2)) / 3, z = (place.getZ(k) + place.getZ(k + 1) + place.getZ(k + 2)) / 3;
      colors.fill(dark(x, y, z) ? 0.62 : 1, 3 * k, 3 * k + 9);
    }
    flat.setAttribute("color", new T.BufferAttribute(colors, 3));
    return flat;
  }

  // A ball of four quarters in two shades about z. Vertices are shared within a quarter: a third of those of single triangles.
  function quartered(around, along) {
    const place = [], colors = [], index = [], columns = Math.max(2, Math.round(around / 4));
    for (let k = 0; k < 4; k++) for (let i = 0; i <= columns; i++) for (let j = 0; j <= along; j++) {
      const w = (k + i / columns) * Math.PI / 2, v = j / along * Math.PI, at = place.length / 3, shade = k % 2 ? 0.62 : 1;
      place.push(Math.sin(v) * Math.cos(w), Math.sin(v) * Math.sin(w), Math.cos(v)); colors.push(shade, shade, shade);
      if (i === columns || j === along) continue;
      if (j > 0) index.push(at, at + 1, at + along + 1);
      if (j < along - 1) index.push(at + 1, at + along + 2, at + along + 1);
    }
    const geometry = new T.BufferGeometry(), position = new T.Float32BufferAttribute(place, 3);
    geometry.setAttribute("position", position); geometry.setAttribute("normal", position.clone()); geometry.setIndex(index);
    geometry.setAttribute("color", new T.Float32BufferAttribute(colors, 3));
    return geometry;
  }

  // Unlit paint shows the colours of the style sheet as they are; the usual way to linear colours and back is a power per pixel.
  function unlit(paint, key = "", edit = null) {
    paint.userData.unlit = true;
    paint.customProgramCacheKey = () => `unlit ${key}`;
    paint.onBeforeCompile = shader => { shader.fragmentShader = shader.fragmentShader.replace("#include <colorspace_fragment>", ""); if (edit) edit(shader); };
    return paint;
  }
  function colored(paint, name) { paint.color.set(tools.color(name)); if (paint.userData.unlit) paint.color.convertLinearToSRGB(); }

  // Round things as squares that face the camera, all in one mesh. Without a graphics card every instance of an InstancedMesh is a call
  // of its own, 20 us each: 1000 spheres took 45 ms so, and take 6 ms as one mesh.
  // `lit` is for bodies, whose quarters have two shades; without it every square is a disc of one colour.
  const eye = {right: v3(), above: v3(), at: v3()};
  function look() { camera.updateMatrixWorld(); eye.right.setFromMatrixColumn(camera.matrixWorld, 0); eye.above.setFromMatrixColumn(camera.matrixWorld, 1); eye.at.copy(camera.position); }
  function sheet(paint, most, corners, triangles, names) {
    const geometry = new T.BufferGeometry(), index = [], arrays = {};
    for (const name of names) { const made = new T.BufferAttribute(new Float32Array(3 * corners * most), 3); made.setUsage(T.DynamicDrawUsage); geometry.setAttribute(name, made); arrays[name] = made.array; }
    for (let k = 0; k < most; k++) for (const i of triangles) index.push(corners * k + i);
    geometry.setIndex(index);
    const mesh = new T.Mesh(geometry, paint);
    mesh.frustumCulled = false;
    return {mesh, arrays, done(count) { geometry.setDrawRange(0, triangles.length * count); for (const name of names) geometry.attributes[name].needsUpdate = true; }};
  }
  function discs(paint, most, lit) {
    const shared = `varying vec2 vDisc; flat varying vec3 ${lit ? "vX, vY, vSun" : "vTint"};`, sunny = from.toArray().map(x => x.toFixed(4)).join();
    unlit(paint, `disc ${lit}`, shader => {   // shaders of their own: those of three.js know much that discs do not need
      shader.vertexShader = `attribute vec2 corner; ${lit ? "attribute vec3 ax, ay;" : ""} ${shared}
        void main() {
          gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
          vDisc = corner; ${lit ? `vX = mat3(viewMatrix) * ax; vY = mat3(viewMatrix) * ay; vSun = mat3(viewMatrix) * vec3(${sunny});` : "vTint = color;"}
        }`;
      // The square root stands for the way from light to the colours of a screen.
      shader.fragmentShader = `uniform vec3 diffuse; ${shared}
        void main() {
          float away = dot(vDisc, vDisc);
          if (away > 1.0) discard;
          ${lit ? `vec3 n = vec3(vDisc, sqrt(1.0 - away));
          float light = sqrt(0.45 + 0.65 * max(dot(n, vSun), 0.0)) * (dot(n, vX) * dot(n, vY) > 0.0 ? 1.0 : 0.8);
          gl_FragColor = vec4(diffuse * light, 1.0);` : "gl_FragColor = vec4(vTint, 1.0);"}
        }`;
    });
    const made = sheet(paint, most, 4, [0, 1, 2, 0, 2, 3], lit ? ["position", "ax", "ay"] : ["position", "color"]), signs = [[-1, -1], [1, -1], [1, 1], [-1, 1]];
    const corner = new Float32Array(8 * most);
    for (let k = 0; k < most; k++) corner.set(signs.flat(), 8 * k);
    made.mesh.geometry.setAttribute("corner", new T.BufferAttribute(corner, 2));
    made.set = (k, x, y, z, r) => signs.forEach(([i, j], n) => {
      const o = 12 * k + 3 * n, place = made.arrays.position;
      place[o] = x + r * (i * eye.right.x + j * eye.above.x); place[o + 1] = y + r * (i * eye.right.y + j * eye.above.y); place[o + 2] = z + r * (i * eye.right.z + j * eye.above.z);
    });
    made.fill = (name, k, x, y, z) => { const array = made.arrays[name]; for (let o = 12 * k; o < 12 * k + 12; o += 3) { array[o] = x; array[o + 1] = y; array[o + 2] = z; } };
    return made;
  }
  function darts(paint, most) {   // flat arrows that face the camera
    const made = sheet(paint, most, 7, [0, 1, 2, 1, 3, 2, 4, 5, 6], ["position", "color"]), side = v3(), along = v3();
    paint.side = T.DoubleSide;
    made.set = (k, tail, way, radius, color) => {
      const length = way.length(), tip = Math.min(radius * 5.5, length * 0.6);
      along.copy(way).divideScalar(length || 1);
      side.copy(eye.at).sub(tail).cross(along);
      if (side.lengthSq() < 1e-24 * eye.at.distanceToSquared(tail)) side.copy(eye.right); else side.normalize();
      [[0, 1], [0, -1], [length - tip, 1], [length - tip, -1], [length - tip, 2.6], [length - tip, -2.6], [length, 0]].forEach(([s, w], n) => {
        c.copy(tail).addScaledVector(along, s).addScaledVector(side, w * radius).toArray(made.arrays.position, 21 * k + 3 * n);
        color.toArray(made.arrays.color, 21 * k + 3 * n);
      });
    };
    return made;
  }

  // -- runs --------------------------------------------------------------------------------------------------------------
  const pose = {p: v3(), q: new T.Quaternion()}, m = new T.Matrix4(), local = new T.Matrix4(), one = v3(1, 1, 1), scale = v3(), tilt = new T.Quaternion();
  const a = v3(), b = v3(), c = v3(), up = v3(0, 1, 0), zAxis = v3(0, 0, 1);

  function makeRun(run, ghost) {
    const group = new T.Group(), updates = [];
    scene.add(group);
    const total = run.solids.length;
    const round = total > 3000 ? [8, 6] : total > 300 ? (software ? [8, 6] : [16, 10]) : total > 40 ? [24, 14] : [40, 24];
    const flat = sparing && !ghost;
    const shapes = {
      box: () => new T.BoxGeometry(1, 1, 1),
      ball: () => quartered(...round),
      egg: () => quartered(...round),
      plain: () => new T.SphereGeometry(1, ...round),
      cylinder: () => { const g = new T.CylinderGeometry(1, 1, 1, 48, 1); g.rotateX(Math.PI / 2); return g; },
      wheel: () => { const g = new T.CylinderGeometry(1, 1, 1, 48, 1); g.rotateX(Math.PI / 2); return perFace(g, (x, y) => (x > 0) !== (y > 0)); },
      rod: () => new T.CylinderGeometry(1, 1, 1, 28, 1),
      cone: () => new T.ConeGeometry(1, 1, 24),
    };
    const batches = new Map();
    function instance(shape, tone, matrix, body, options) {
      const key = shape + "|" + tone + (options ? JSON.stringify(options) : "");
      if (!batches.has(key)) batches.set(key, {shape, tone, options, items: []});
      batches.get(key).items.push({local: matrix, body});
    }
    const placed = solid => new T.Matrix4().compose(v3(...solid.at), new T.Quaternion(solid.turn[1], solid.turn[2], solid.turn[3], solid.turn[0]), one);
    const scaled = (matrix, x, y, z) => matrix.clone().scale(v3(x, y, z));
    for (const solid of run.solids) {
      const at = placed(solid), tone = solid.tone, r = solid.radius;
      if (solid.kind === "box") instance("box", tone, scaled(at, ...solid.size), solid.body);
      else if (solid.kind === "ball") instance("ball", tone, scaled(at, r, r, r), solid.body);
      else if (solid.kind === "knob") instance("plain", tone, scaled(at, r, r, r), solid.body);
      else if (solid.kind === "cavity") instance("plain", tone, scaled(at, r, r, r), solid.body, {transparent: true, opacity: 0.14, depthWrite: false, side: T.DoubleSide});
      else if (solid.kind === "ellipsoid") instance("egg", tone, scaled(at, ...solid.semi_axes), solid.body);
      else if (solid.kind === "cylinder") instance(solid.marked ? "wheel" : "cylinder", tone, scaled(at, r, r, solid.length), solid.body);
      else if (solid.kind === "link") {
        const [p, q] = solid.ends.map(e => v3(...e)), way = q.clone().sub(p), length = way.length();
        const turn = new T.Quaternion().setFromUnitVectors(up, length > 0 ? way.clone().divideScalar(length) : up);
        instance("rod", tone, at.clone().multiply(new T.Matrix4().compose(p.clone().add(q).multiplyScalar(0.5), turn, v3(r, length, planar ? symbol * 0.6 : r))), solid.body);
        for (const end of [p, q]) instance("plain", tone, at.clone().multiply(new T.Matrix4().compose(end, new T.Quaternion(), v3(r, r, planar ? symbol * 0.6 : r))), solid.body);
      } else if (solid.kind === "mesh") {
        const geometry = new T.BufferGeometry();
        geometry.setAttribute("position", new T.Float32BufferAttribute(solid.vertices.flat(), 3));
        geometry.setIndex(solid.faces.flat());
        const mesh = new T.Mesh(geometry, material(tone, ghost, {flatShading: true}));
        mesh.matrixAutoUpdate = false; mesh.castShadow = mesh.receiveShadow = true;
        mesh.userData.body = solid.body;
        group.add(mesh);
        updates.push({body: solid.body, draw() { run.pose(solid.body, pose); mesh.matrix.compose(pose.p, pose.q, one).multiply(at); mesh.matrixWorldNeedsUpdate = true; }});
      }
    }
    for (const batch of batches.values()) {
      if (flat && batch.shape === "ball") { updates.push(makeDiscs(run, batch, group)); continue; }
      const two = ["ball", "egg", "wheel"].includes(batch.shape), paint = material(batch.tone, ghost, {vertexColors: two, ...batch.options});
      const mesh = new T.InstancedMesh(shapes[batch.shape](), paint, batch.items.length);
      mesh.instanceMatrix.setUsage(T.DynamicDrawUsage);
      mesh.castShadow = !batch.options; mesh.receiveShadow = true; mesh.frustumCulled = false;
      mesh.userData.items = batch.items;
      group.add(mesh);
      const array = mesh.instanceMatrix.array;
      updates.push({draw() {
        let last = -2;
        batch.items.forEach((item, k) => {
          if (item.body !== last) { run.pose(item.body, pose); m.compose(pose.p, pose.q, one); last = item.body; }
          local.multiplyMatrices(m, item.local).toArray(array, 16 * k);
        });
        mesh.instanceMatrix.needsUpdate = true;
        mesh.boundingSphere = null;
      }});
    }
    for (const trace of run.traces) updates.push(...makeTrace(run, trace, group, ghost));
    return {run, group, draw(frame) { for (const update of updates) update.draw(frame); }};
  }

  function makeDiscs(run, batch, group) {   // balls where every triangle counts
    const paint = new T.MeshBasicMaterial(), made = discs(paint, batch.items.length, true), e = local.elements, where = [];
    materials.push([paint, tones[batch.tone] || "--soft"]);
    made.mesh.userData.items = batch.items;
    made.mesh.raycast = (ray, hits) => where.forEach(([x, y, z, r], k) => {   // what a pointer finds
      const along = b.set(x, y, z).sub(ray.ray.origin).dot(ray.ray.direction);
      if (b.lengthSq() - along * along < r * r) hits.push({distance: along - r, object: made.mesh, instanceId: k, point: b.clone()});
    });
    group.add(made.mesh);
    return {draw() {
      batch.items.forEach((item, k) => {
        run.pose(item.body, pose); local.multiplyMatrices(m.compose(pose.p, pose.q, one), item.local);
        const r = Math.hypot(e[0], e[1], e[2]);
        made.set(k, e[12], e[13], e[14], r); made.fill("ax", k, e[0], e[1], e[2]); made.fill("ay", k, e[4], e[5], e[6]);
        where[k] = [e[12], e[13], e[14], r];
      });
      made.done(batch.items.length);
    }};
  }

  // -- what moves point by point -------------------------------------------------------------------------------------------
  function rods(group, tone, ghost, count, shape = "rod") {
    const mesh = new T.InstancedMesh(shape === "rod" ? new T.CylinderGeometry(1, 1, 1, 28) : shape === "disk" ? new T.CylinderGeometry(1, 1, 1, 72) : new T.SphereGeometry(1, 24, 16), material(tone, ghost), count);
    mesh.castShadow = mesh.receiveShadow = true; mesh.frustumCulled = false;
    group.add(mesh);
    return mesh;
  }
  function between(p, q, radius, mesh, k) {
    c.subVectors(q, p);
    const length = c.length();
    tilt.setFromUnitVectors(up, length > 0 ? c.divideScalar(length) : up);
    m.compose(p.clone().add(q).multiplyScalar(0.5), tilt, scale.set(radius, Math.max(length, 1e-12), radius));
    mesh.setMatrixAt(k, m); mesh.instanceMatrix.needsUpdate = true;
  }
  function makeTrace(run, trace, group, ghost) {
    const still = trace.points.length === 3 * trace.count, n = trace.count, tone = trace.tone || "ink";
    const from = frame => still ? 0 : 3 * n * frame;
    const point = (frame, k, into) => into.fromArray(trace.points, from(frame) + 3 * k);
    const slice = frame => trace.points.subarray(from(frame), from(frame) + 3 * n);
    const lift = planar ? symbol * 1.1 : 0;   // flat lines lie before bodies
    const moving = draw => [{draw: still ? once(draw) : draw}];
    if (trace.kind === "line" || trace.kind === "coil") {
      const coil = trace.kind === "coil", points = new Float32Array(3 * (coil ? 161 : n));
      const line = fatLine(tone, coil ? 2.2 : trace.width || 2, points, ghost);
      if (trace.front) { line.material.depthTest = false; line.renderOrder = 8; }
      group.add(line);
      return moving(frame => {
        if (coil) helix(point(frame, 0, a), point(frame, 1, b), trace.radius, points); else { points.set(slice(frame)); if (planar) for (let k = 2; k < points.length; k += 3) points[k] += lift; }
        line.geometry.setPositions(points);
      });
    }
    if (trace.kind === "tube") {
      const mesh = rods(group, tone, ghost, 1);
      return moving(frame => between(point(frame, 0, a), point(frame, 1, b), trace.radius, mesh, 0));
    }
    if (trace.kind === "beam") return moving(tubeAlong(group, material(tone, ghost), n, trace.radius, slice));
    if (trace.kind === "sections") {
      const mesh = rods(group, tone, ghost, n, "disk");
      return moving(frame => {
        for (let k = 0; k < n; k++) {
          point(frame, Math.max(k - 1, 0), a); point(frame, Math.min(k + 1, n - 1), b);
          c.subVectors(b, a).normalize(); point(frame, k, a);
          between(a.clone().addScaledVector(c, -0.12 * trace.radius), a.clone().addScaledVector(c, 0.12 * trace.radius), trace.radius * 1.12, mesh, k);
        }
      });
    }
    if (trace.kind === "ring") {
      const mesh = new T.Mesh(new T.TorusGeometry(trace.radius, Math.min(trace.radius * 0.14, symbol * 0.35), 14, 56), material(tone, ghost));
      mesh.castShadow = true; group.add(mesh);
      return moving(frame => {
        point(frame, 0, a); point(frame, 1, b);
        mesh.position.copy(a); if (planar) mesh.position.z += symbol; mesh.quaternion.setFromUnitVectors(zAxis, b.sub(a).normalize());
      });
    }
    if (trace.kind === "disk" || trace.kind === "dot") {
      const flat = trace.kind === "disk" && planar, r = trace.kind === "dot" ? symbol * 0.55 : trace.radius;
      const mesh = rods(group, tone, ghost, 1, flat ? "disk" : "ball");
      return moving(frame => {
        point(frame, 0, a);
        if (flat) between(a.clone().add(v3(0, 0, -symbol * 0.8)), a.clone().add(v3(0, 0, symbol * 0.8)), r, mesh, 0);
        else { m.compose(a.add(v3(0, 0, planar ? lift : 0)), new T.Quaternion(), scale.set(r, r, r)); mesh.setMatrixAt(0, m); mesh.instanceMatrix.needsUpdate = true; }
      });
    }
    if (trace.kind === "arrow") {
      const arrow = arrows(group, material(tone, ghost, {depthTest: !trace.front}), 1, trace.front ? 8 : 0);
      return moving(frame => { point(frame, 0, a); point(frame, 1, b); arrow.set(0, a, b.sub(a), symbol * 0.22); arrow.done(1); });
    }
    if (trace.kind === "area") return moving(area(group, material(tone, ghost, {flatShading: true, side: T.DoubleSide}), n, slice, trace, fatLine(tone, 1.6, new Float32Array(3 * (n + 1)), ghost)));
    if (trace.kind === "ground") return ghost ? [] : moving(ribbon(group, n, slice));
    if (trace.kind === "plane") return ghost ? [] : moving(plane(group, trace, point));
    if (trace.kind === "surface") return ghost ? [] : moving(surface(group, trace, n, slice));
    return [];
  }
  function once(draw) { let done = false; return frame => { if (!done) draw(frame); done = true; }; }

  function helix(start, stop, radius, out) {
    const p = start.clone(), way = stop.clone().sub(p), length = way.length() || 1e-12, along = way.clone().divideScalar(length);
    const x = (Math.abs(along.z) < 0.9 ? v3(0, 0, 1) : v3(1, 0, 0)).cross(along).normalize(), y = along.clone().cross(x), count = out.length / 3 - 1;
    for (let k = 0; k <= count; k++) {
      const s = k / count, inner = Math.min(Math.max((s - 0.12) / 0.76, 0), 1), r = radius * Math.min(1, 12 * Math.min(inner, 1 - inner)), w = 2 * Math.PI * 9 * inner;
      a.copy(p).addScaledVector(way, s).addScaledVector(x, r * Math.cos(w)).addScaledVector(y, r * Math.sin(w)).toArray(out, 3 * k);
    }
  }
  function tubeAlong(group, paint, n, radius, slice) {
    const sides = 14, geometry = new T.BufferGeometry(), position = new Float32Array(3 * n * sides), normal = new Float32Array(3 * n * sides), index = [];
    for (let i = 0; i + 1 < n; i++) for (let j = 0; j < sides; j++) {
      const k = i * sides + j, l = i * sides + (j + 1) % sides;
      index.push(k, l, k + sides, l, l + sides, k + sides);
    }
    geometry.setAttribute("position", new T.BufferAttribute(position, 3)); geometry.setAttribute("normal", new T.BufferAttribute(normal, 3)); geometry.setIndex(index);
    const mesh = new T.Mesh(geometry, paint);
    paint.side = T.DoubleSide;
    mesh.castShadow = mesh.receiveShadow = true; mesh.frustumCulled = false; group.add(mesh);
    const x = v3(), y = v3();
    return frame => {
      const points = slice(frame);
      let side = null;
      for (let i = 0; i < n; i++) {
        a.fromArray(points, 3 * Math.max(i - 1, 0)); b.fromArray(points, 3 * Math.min(i + 1, n - 1)); c.subVectors(b, a).normalize();
        if (!side) side = Math.abs(c.z) < 0.9 ? v3(0, 0, 1) : v3(1, 0, 0);
        x.crossVectors(side, c).normalize(); y.crossVectors(c, x); side.copy(y);
        a.fromArray(points, 3 * i);
        for (let j = 0; j < sides; j++) {
          const w = 2 * Math.PI * j / sides, o = 3 * (i * sides + j);
          b.set(0, 0, 0).addScaledVector(x, Math.cos(w)).addScaledVector(y, Math.sin(w));
          b.toArray(normal, o); b.multiplyScalar(radius).add(a).toArray(position, o);
        }
      }
      geometry.attributes.position.needsUpdate = geometry.attributes.normal.needsUpdate = true;
    };
  }
  function area(group, paint, n, slice, trace, outline) {
    const first = slice(0), flat = [], depth = planar ? symbol * 1.6 : 0;
    const corners = []; for (let k = 0; k < n; k++) corners.push(v3().fromArray(first, 3 * k));
    const normal = v3(); for (let k = 0; k < n; k++) { a.copy(corners[k]); b.copy(corners[(k + 1) % n]); normal.add(a.cross(b)); }
    if (normal.length() < 1e-300) normal.set(0, 0, 1);
    tilt.setFromUnitVectors(normal.normalize(), zAxis);
    for (const p of corners) { const q = p.clone().applyQuaternion(tilt); flat.push(new T.Vector2(q.x, q.y)); }
    const top = T.ShapeUtils.triangulateShape(flat, []), index = [];
    for (const [i, j, k] of top) index.push(i, j, k, n + i, n + k, n + j);
    if (depth) for (let k = 0; k < n; k++) { const l = (k + 1) % n; index.push(k, n + k, n + l, k, n + l, l); }
    const geometry = new T.BufferGeometry(), position = new Float32Array(6 * n), rim = new Float32Array(3 * (n + 1));
    geometry.setAttribute("position", new T.BufferAttribute(position, 3)); geometry.setIndex(index);
    const mesh = new T.Mesh(geometry, paint);
    if (!planar) Object.assign(paint, {polygonOffset: true, polygonOffsetFactor: -Math.min(areas, 8), polygonOffsetUnits: -4 * Math.min(areas++, 8)});   // of two in one plane the later one is seen
    mesh.castShadow = mesh.receiveShadow = true; mesh.frustumCulled = false; group.add(mesh);
    if (!planar) group.add(outline);
    return frame => {
      const points = slice(frame);
      for (let k = 0; k < n; k++) for (let i = 0; i < 3; i++) {
        position[3 * k + i] = points[3 * k + i] + (i === 2 ? depth / 2 : 0);
        position[3 * (n + k) + i] = points[3 * k + i] - (i === 2 ? depth / 2 : 0);
      }
      geometry.attributes.position.needsUpdate = true;
      if (!planar) { rim.set(points); rim.set(points.subarray(0, 3), 3 * n); outline.geometry.setPositions(rim); }
    };
  }
  function hatching() {
    const sheet = document.createElement("canvas"); sheet.width = sheet.height = 64;
    const pen = sheet.getContext("2d");
    pen.fillStyle = tools.color("--floor"); pen.fillRect(0, 0, 64, 64);
    pen.strokeStyle = tools.color("--faint"); pen.lineWidth = 7;
    for (const x of [-64, 0, 64]) { pen.beginPath(); pen.moveTo(x, 64); pen.lineTo(x + 64, 0); pen.stroke(); }
    const texture = new T.CanvasTexture(sheet);
    texture.wrapS = texture.wrapT = T.RepeatWrapping; texture.colorSpace = T.SRGBColorSpace;
    return texture;
  }
  const hatched = [];
  function hatch() { const made = new T.MeshLambertMaterial({map: hatching(), side: T.DoubleSide}); hatched.push(made); return made; }
  // Ground in the plane: a hatched band on the right of a line.
  function ribbon(group, n, slice) {
    const geometry = new T.BufferGeometry(), position = new Float32Array(12 * n), uv = new Float32Array(8 * n), index = [], wide = 0.025 * size, deep = symbol * 4;
    for (let k = 0; k + 1 < n; k++) for (const [i, j] of [[0, 1], [1, 3], [0, 2]]) { const p = 4 * k; index.push(p + i, p + j, p + 4 + i, p + j, p + 4 + j, p + 4 + i); }
    geometry.setAttribute("position", new T.BufferAttribute(position, 3)); geometry.setAttribute("uv", new T.BufferAttribute(uv, 2)); geometry.setIndex(index);
    const normal = new Float32Array(12 * n); for (let k = 2; k < 12 * n; k += 3) normal[k] = 1;   // flat, also where the line has corners
    geometry.setAttribute("normal", new T.BufferAttribute(normal, 3));
    const mesh = new T.Mesh(geometry, hatch()), edge = fatLine("ink", 2, new Float32Array(3 * n), false);
    mesh.receiveShadow = true; mesh.frustumCulled = edge.frustumCulled = false; group.add(mesh, edge);
    const front = new Float32Array(3 * n);
    return frame => {
      const points = slice(frame), closed = n > 3 && a.fromArray(points).distanceTo(b.fromArray(points, 3 * n - 3)) < 1e-6 * size;
      for (let k = 0; k < n; k++) {
        a.fromArray(points, 3 * k);
        const before = k ? k - 1 : closed ? n - 2 : 1, after = k < n - 1 ? k + 1 : closed ? 1 : n - 2;
        b.subVectors(a, c.fromArray(points, 3 * before)).multiplyScalar(k || closed ? 1 : -1).normalize();
        c.fromArray(points, 3 * after).sub(a).multiplyScalar(k < n - 1 || closed ? 1 : -1).normalize();
        const right = v3(b.y + c.y, -b.x - c.x, 0).divideScalar(Math.max(1 + b.dot(c), 0.3));   // the band is as wide at a corner
        [[0, 1], [0, -1], [1, 1], [1, -1]].forEach(([out, side], i) => {
          b.copy(a).addScaledVector(right, out * wide).add(v3(0, 0, side > 0 ? 0 : -deep)).toArray(position, 12 * k + 3 * i);
          uv.set([(b.x - points[0]) / wide, (b.y - points[1]) / wide], 8 * k + 2 * i);
        });
        a.toArray(front, 3 * k);
      }
      edge.geometry.setPositions(front);
      geometry.attributes.position.needsUpdate = geometry.attributes.uv.needsUpdate = true;
    };
  }
  let floors = 0;
  const fading = [];
  function plane(group, trace, point) {
    if (planar) {
      const reach = size * 3, wide = trace.depth || 0.03 * size, paint = hatch(), box = new T.Mesh(new T.BoxGeometry(2 * reach, wide, symbol * 5), paint);
      const texture = paint.map; texture.repeat.set(2 * reach / wide, 1);
      const edge = fatLine("ink", 2, new Float32Array([-reach, wide / 2, symbol * 2.5, reach, wide / 2, symbol * 2.5]), false);
      box.add(edge); box.receiveShadow = true; group.add(box);
      return frame => {
        point(frame, 0, a); point(frame, 1, b); b.sub(a).normalize();
        const foot = middle.clone().addScaledVector(b, a.clone().sub(middle).dot(b)); foot.z = -symbol * 2.5;   // its face lies in the middle plane of bodies
        box.position.copy(foot).addScaledVector(b, -wide / 2);
        box.rotation.z = Math.atan2(b.y, b.x) - Math.PI / 2;
      };
    }
    point(0, 0, a); point(0, 1, b);
    const wall = Math.abs(b.sub(a).normalize().dot(upward)) < 0.7, made = floor(wall);
    if (wall) fading.push(made);
    group.add(made);
    return frame => {
      point(frame, 0, a); point(frame, 1, b); b.sub(a).normalize();
      made.position.copy(middle).addScaledVector(b, a.clone().sub(middle).dot(b));
      made.quaternion.setFromUnitVectors(zAxis, b);
    };
  }
  // A floor in space: shadow and a grid that fades away. A wall is smaller, and from behind only a faint grid is seen: it hides nobody.
  function floor(wall = false) {
    floors++;
    const made = new T.Group(), reach = size * (wall ? 0.7 : 2.2), step = 10 ** Math.floor(Math.log10(size / 4)) * [1, 2, 5].find(k => k * 10 ** Math.floor(Math.log10(size / 4)) * 5 >= size / 4);
    const shade = new T.Mesh(new T.CircleGeometry(reach, 72), new T.ShadowMaterial({opacity: 0.22, depthWrite: false}));
    shade.receiveShadow = true;
    const disk = new T.CircleGeometry(reach, 72, 0), alpha = new Float32Array(4 * disk.attributes.position.count).fill(1);
    for (let k = 1; k < disk.attributes.position.count; k++) alpha[4 * k + 3] = 0;
    disk.setAttribute("color", new T.BufferAttribute(alpha, 4));
    const base = new T.Mesh(disk, unlit(new T.MeshBasicMaterial({vertexColors: true, transparent: true, depthWrite: false})));
    base.position.z = shade.position.z = -size * 1e-4;
    base.renderOrder = -2; shade.renderOrder = -1;
    materials.push([base.material, "--floor"]);
    const place = [], count = Math.floor(reach / step), cuts = sparing ? 8 : 24;   // SwiftShader drops a line that ends behind the camera: pieces
    for (let i = -count; i <= count; i++) for (let j = 0; j < cuts; j++) {
      const s = i * step, half = Math.sqrt(reach ** 2 - s ** 2), p = (2 * j / cuts - 1) * half, q = (2 * (j + 1) / cuts - 1) * half;
      place.push(s, p, 0, s, q, 0, p, s, 0, q, s, 0);
    }
    const grid = new T.BufferGeometry(); grid.setAttribute("position", new T.Float32BufferAttribute(place, 3));
    const paint = unlit(new T.LineBasicMaterial({transparent: true, depthWrite: false}), `grid ${reach}`, shader => {   // lines fade away
      const shared = "varying vec2 vAt;\nvoid main() {";
      shader.vertexShader = shader.vertexShader.replace("void main() {", `${shared} vAt = position.xy / ${reach.toExponential()};`);
      shader.fragmentShader = shader.fragmentShader.replace("void main() {", shared).replace("#include <color_fragment>", "diffuseColor.a *= pow(max(1.0 - length(vAt), 0.0), 1.5);");
    });
    materials.push([paint, "--faint"]);
    made.add(base, new T.LineSegments(grid, paint));
    made.userData.paint = paint;
    if (!sparing) made.add(shade);
    return made;
  }
  function surface(group, trace, n, slice) {
    const columns = trace.columns, rows = n / columns, index = [], geometry = new T.BufferGeometry(), position = new Float32Array(3 * n);
    for (let j = 0; j + 1 < rows; j++) for (let i = 0; i + 1 < columns; i++) { const k = j * columns + i; index.push(k, k + 1, k + columns, k + 1, k + columns + 1, k + columns); }
    geometry.setAttribute("position", new T.BufferAttribute(position, 3)); geometry.setIndex(index);
    const paint = new T.MeshLambertMaterial({side: T.DoubleSide}); materials.push([paint, "--floor"]);
    const mesh = new T.Mesh(geometry, paint); mesh.receiveShadow = true; mesh.frustumCulled = false; group.add(mesh);
    floors++;
    return frame => { position.set(slice(frame)); geometry.attributes.position.needsUpdate = true; geometry.computeVertexNormals(); };
  }
  function arrows(group, paint, most, order = 0) {
    const shaft = new T.InstancedMesh(new T.CylinderGeometry(1, 1, 1, 16), paint, most), head = new T.InstancedMesh(new T.ConeGeometry(1, 1, 20), paint, most);
    for (const mesh of [shaft, head]) { mesh.frustumCulled = false; mesh.renderOrder = order; group.add(mesh); }
    return {
      set(k, tail, way, radius) {
        const length = way.length(), along = length > 0 ? way.clone().divideScalar(length) : up, tip = Math.min(radius * 5.5, length * 0.6);
        tilt.setFromUnitVectors(up, along);
        shaft.setMatrixAt(k, m.compose(tail.clone().addScaledVector(along, (length - tip) / 2), tilt, scale.set(radius, Math.max(length - tip, 1e-12), radius)));
        head.setMatrixAt(k, m.compose(tail.clone().addScaledVector(along, length - tip / 2), tilt, scale.set(radius * 2.6, Math.max(tip, 1e-12), radius * 2.6)));
      },
      done(count) {
        for (const mesh of [shaft, head]) { mesh.count = count; mesh.instanceMatrix.needsUpdate = true; }
      },
    };
  }

  // -- contacts --------------------------------------------------------------------------------------------------------------
  const contacts = new T.Group(); scene.add(contacts);
  const hues = [null, new T.Color(), new T.Color(), new T.Color()];
  let mostSpots = 1, strongest = 0;
  for (const run of runs) {
    for (let f = 0; f < run.t.length; f++) mostSpots = Math.max(mostSpots, run.spots.start[f + 1] - run.spots.start[f]);
    for (const s of run.spots.strength) strongest = Math.max(strongest, s);
  }
  mostSpots = Math.min(mostSpots + 64, 20000);
  const over = {color: 0xffffff, vertexColors: true, depthTest: false, transparent: true};
  const spotDots = discs(new T.MeshBasicMaterial(over), mostSpots, false), spotArrows = darts(unlit(new T.MeshBasicMaterial(over)), mostSpots);
  for (const made of [spotArrows, spotDots]) { made.mesh.renderOrder = 10; contacts.add(made.mesh); }
  let counted = 0;
  function drawContacts(echoes) {
    let count = 0, pointed = 0;
    const run = runs[0], s = run.spots, f = run.frame;
    const put = (k, level) => {
      if (count >= mostSpots) return;
      const state = s.states[k], share = strongest > 0 ? Math.sqrt(Math.max(s.strength[k], 0) / strongest) : 0;
      const r = symbol * (0.35 + 0.5 * share) * level * (run.bodies.length > 200 ? 0.5 : 1);
      a.fromArray(s.places, 3 * k); if (planar) a.z = symbol * 2;
      const {r: red, g: green, b: blue} = hues[state];
      spotDots.set(count, a.x, a.y, a.z, r); spotDots.fill("color", count, red, green, blue); count++;
      b.fromArray(s.forces, 3 * k);
      if (b.lengthSq() > 0) spotArrows.set(pointed++, a, b.normalize().multiplyScalar(symbol * (2.5 + 9 * share) * level), symbol * 0.16, hues[state]);
    };
    for (let k = s.start[f]; k < s.start[f + 1]; k++) put(k, 1);
    for (const [k, level] of echoes) put(k, level);
    spotDots.done(count); spotArrows.done(pointed);
    counted = count;
  }

  // -- trails, frames, labels ------------------------------------------------------------------------------------------------
  const stages = runs.map((run, k) => makeRun(run, k > 0));
  if (!floors && !planar) {   // below everything
    const made = floor();
    let deepest = 0;
    for (let k = 0; k < 8; k++) deepest = Math.min(deepest, a.set(k & 1 ? low.x : high.x, k & 2 ? low.y : high.y, k & 4 ? low.z : high.z).sub(middle).dot(upward));
    made.quaternion.copy(upright); made.position.copy(middle).addScaledVector(upward, deepest - 0.02 * size); scene.add(made);
  }
  if (planar) {
    const back = new T.Mesh(new T.PlaneGeometry(size * 30, size * 30), new T.ShadowMaterial({opacity: 0.1}));
    back.position.set(middle.x, middle.y, -symbol * 5.2); back.receiveShadow = true; scene.add(back);
  }
  const trails = new T.Group(), frames = new T.Group(); scene.add(trails, frames);
  trails.visible = frames.visible = false;
  const shown = {contacts: true, trails: false, frames: false, labels: false};
  let trailList = [];
  function makeTrails(body) {
    trails.clear(); trailList = [];
    const add = (run, at, tone, alone) => {
      const array = new Float32Array(3 * run.t.length);
      for (let f = 0; f < run.t.length; f++) at(f, a).toArray(array, 3 * f);
      const geometry = new T.BufferGeometry(); geometry.setAttribute("position", new T.BufferAttribute(array, 3));
      const paint = new T.LineBasicMaterial({transparent: true, opacity: 0.75}); materials.push([paint, tones[tone] || "--body"]);
      paint.color.set(tools.color(tones[tone] || "--body"));
      const line = new T.Line(geometry, paint); line.frustumCulled = false;
      (alone ? scene : trails).add(line);
      if (!alone) trailList.push([run, line]);
      return line;
    };
    for (const [r, run] of runs.entries()) {
      const bodies = body >= 0 ? [body] : run.moving.length <= 40 ? run.moving : [];
      for (const k of bodies) add(run, (f, into) => { run.pose(k, pose, f); return into.copy(pose.p).add(v3(0, 0, planar ? symbol * 1.5 : 0)); }, r ? "other" : "body");
    }
  }
  const always = [];   // paths that a drawing asked for
  for (const run of runs) for (const trace of run.traces) if (trace.kind === "dot" && trace.trail && trace.points.length > 3 * trace.count) {
    const array = new Float32Array(trace.points); if (planar) for (let k = 2; k < array.length; k += 3) array[k] += symbol * 1.1;
    const geometry = new T.BufferGeometry(); geometry.setAttribute("position", new T.BufferAttribute(array, 3));
    const paint = new T.LineBasicMaterial({transparent: true, opacity: 0.6}); materials.push([paint, tones[trace.tone] || "--soft"]);
    const line = new T.Line(geometry, paint); line.frustumCulled = false; scene.add(line); always.push([run, line]);
  }
  const hands = [v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1)].slice(0, planar ? 2 : 3), shades = ["#d93636", "#2f9e4d", "#3f73e6"].map(shade => new T.Color(shade).convertLinearToSRGB());
  const framed = Math.min(runs[0].bodies.length, 200), axes = darts(unlit(new T.MeshBasicMaterial({vertexColors: true, depthTest: false, transparent: true})), framed * hands.length);
  axes.mesh.renderOrder = 9; frames.add(axes.mesh);
  function drawFrames() {
    for (let k = 0; k < framed; k++) {
      runs[0].pose(k, pose); if (planar) pose.p.z += symbol * 2;
      hands.forEach((hand, i) => axes.set(hands.length * k + i, pose.p, a.copy(hand).applyQuaternion(pose.q).multiplyScalar(symbol * 5), symbol * 0.13, shades[i]));
    }
    axes.done(framed * hands.length);
  }
  const labelHost = document.querySelector("#labels"), labelled = runs[0].bodies.map((name, k) => [name, k]).filter(([name]) => name).slice(0, 60);
  const widths = [], spans = labelled.map(([name]) => { const span = document.createElement("span"); span.textContent = name; span.hidden = true; labelHost.append(span); return span; });

  // -- camera ----------------------------------------------------------------------------------------------------------------
  let follow = -1, followed = v3();
  // What the first picture shows: all that ever moves, unless a few bodies go far away for a while and would make the rest small.
  const [nearLow, nearHigh] = (() => {
    const {places, moving, t: {length: count}} = runs[0], bodies = moving.length, few = Math.max(1, Math.ceil(count * bodies / 20000)), whole = [low, high];
    if (runs.length > 1 || bodies < 3) return whole;
    const near = whole.map(v => v.clone());
    for (const i of [0, 1, 2]) {
      const all = [], axis = "xyz"[i];
      for (let f = 0; f < count; f += few) for (let k = 0; k < bodies; k++) all.push(places[3 * (f * bodies + k) + i]);
      all.sort((p, q) => p - q);
      const first = Array.from({length: bodies}, (_, k) => places[3 * k + i]), cut = Math.floor(0.05 * all.length);
      near[0][axis] += Math.min(all[cut], ...first) - all[0]; near[1][axis] -= all[all.length - 1] - Math.max(all[all.length - 1 - cut], ...first);
    }
    return near[1].distanceTo(near[0]) < size / 1.4 ? near : whole;
  })();
  function fit() {
    const azimuth = data.camera ? data.camera[0] : -60, elevation = data.camera ? data.camera[1] : 20;
    const e = elevation * Math.PI / 180, w = azimuth * Math.PI / 180;
    const toward = planar ? v3(0, 0, 1) : v3(Math.cos(e) * Math.cos(w), Math.cos(e) * Math.sin(w), Math.sin(e)).applyQuaternion(upright);
    const middle = nearLow.clone().add(nearHigh).multiplyScalar(0.5), low = nearLow, high = nearHigh;
    controls.target.copy(middle);
    // Far enough that all corners of the motion are in the picture.
    const right = camera.up.clone().cross(toward).normalize(), above = toward.clone().cross(right), half = Math.tan(camera.fov * Math.PI / 360);
    let distance = 0;
    for (let k = 0; k < 8; k++) {
      a.set(k & 1 ? low.x : high.x, k & 2 ? low.y : high.y, k & 4 ? low.z : high.z).sub(middle);
      distance = Math.max(distance, Math.abs(a.dot(right)) / (half * camera.aspect) + a.dot(toward), Math.abs(a.dot(above)) / half + a.dot(toward));
    }
    camera.position.copy(middle).addScaledVector(toward, Math.max(distance * 1.1, symbol * 20));
    camera.updateProjectionMatrix(); controls.update();
    if (canvas.clientHeight > 200) {   // room for the row of buttons below
      const room = 44 / canvas.clientHeight;
      a.copy(above).multiplyScalar(-room * half * camera.position.distanceTo(middle));
      camera.position.addScaledVector(toward, camera.position.distanceTo(middle) * room).add(a); controls.target.add(a); controls.update();
    }
  }
  function zoom(factor) { camera.position.sub(controls.target).divideScalar(factor).add(controls.target); controls.update(); tools.redraw(); }
  const finest = Math.min(devicePixelRatio || 1, 2);
  let ratio = finest, moving = false, slow = 0;
  function resize() {
    const box = canvas.parentElement.getBoundingClientRect(), first = !camera.userData.fitted;
    renderer.setPixelRatio(moving ? ratio : finest); renderer.setSize(Math.max(box.width, 1), Math.max(box.height, 1), false);
    const before = camera.aspect; camera.aspect = Math.max(box.width, 1) / Math.max(box.height, 1); camera.updateProjectionMatrix();
    for (const paint of lines) paint.resolution.set(box.width, box.height);
    if (first || camera.userData.untouched) fit();
    camera.userData.fitted = true;
  }
  camera.userData.untouched = true;
  controls.addEventListener("start", () => { camera.userData.untouched = false; });
  function dress() {
    renderer.setClearColor(new T.Color(tools.color("--sky")));
    for (const [paint, name] of materials) colored(paint, name);
    for (const paint of hatched) { const repeat = paint.map.repeat.clone(); paint.map.dispose(); paint.map = hatching(); paint.map.repeat.copy(repeat); }
    ["--stick", "--slip", "--impact"].forEach((name, k) => hues[k + 1].set(tools.color(name)).convertLinearToSRGB());
    const dim = document.documentElement.dataset.theme === "dark"; sky.intensity = dim ? 1.25 : 1.7; sun.intensity = dim ? 1.7 : 2.1;
  }
  function pick(x, y) {   // the body under a pointer, -1 if there is none
    const ray = new T.Raycaster(); ray.setFromCamera(new T.Vector2(x, y), camera);
    for (const hit of ray.intersectObjects(stages[0].group.children, false)) {
      const body = hit.object.userData.items ? hit.object.userData.items[hit.instanceId].body : hit.object.userData.body;
      if (body !== undefined) return body;
    }
    return -1;
  }
  function frame(time, at, echoes) {
    runs.forEach((run, k) => { run.frame = at[k]; });
    if (follow >= 0) { runs[0].pose(follow, pose); camera.position.add(pose.p).sub(followed); controls.target.add(pose.p).sub(followed); followed.copy(pose.p); controls.update(); }
    look();
    for (const made of fading) made.userData.paint.opacity = c.copy(zAxis).applyQuaternion(made.quaternion).dot(b.subVectors(eye.at, made.position)) > 0 ? 1 : 0.3;
    stages.forEach((stage, k) => stage.draw(at[k]));
    contacts.visible = shown.contacts; if (shown.contacts) drawContacts(echoes);
    trails.visible = shown.trails; frames.visible = shown.frames;
    for (const [run, line] of [...trailList, ...always]) line.geometry.setDrawRange(0, run.frame + 1);
    if (shown.frames) drawFrames();
  }
  function drawLabels(box) {   // beside their bodies; where two would overlap, the lower one moves down
    const found = [];
    labelled.forEach(([, k], i) => {
      runs[0].pose(k, pose); a.copy(pose.p).project(camera);
      spans[i].hidden = a.z > 1 || Math.abs(a.x) > 1.2 || Math.abs(a.y) > 1.2;
      if (!spans[i].hidden) found.push({span: spans[i], x: (a.x + 1) / 2 * box.x + 6, y: (1 - a.y) / 2 * box.y - 20, wide: widths[i] ||= spans[i].offsetWidth});
    });
    found.sort((one, other) => one.y - other.y).forEach((label, i) => {
      for (const before of found.slice(0, i)) if (label.x < before.x + before.wide && before.x < label.x + label.wide && label.y < before.y + 18) label.y = Math.max(label.y, before.y + 18);
      label.span.style.transform = `translate(${label.x}px, ${label.y}px)`;
    });
  }
  function render() {
    renderer.render(scene, camera);
    spans.forEach(span => { span.hidden = !shown.labels; });
    if (shown.labels) drawLabels(renderer.getSize(new T.Vector2()));
  }
  // A slow machine gets fewer pixels while the film plays, then no shadows, so that it stays fluent.
  function pace(milliseconds) {
    slow = milliseconds > 40 ? slow + milliseconds : Math.max(0, slow - 40);
    if (slow < 700) return;
    slow = 0;
    if (ratio > 1) { ratio = 1; resize(); } else if (renderer.shadowMap.enabled && (software || solidCount > 100)) { renderer.shadowMap.enabled = false; sun.castShadow = false; for (const [paint] of materials) paint.needsUpdate = true; }
    else if (ratio > 0.6 && (software || solidCount > 100)) { ratio = 0.6; resize(); }
  }
  const use = {trails: runs.some(run => run.moving.length > 0), frames: framed > 0, labels: labelled.length > 0};
  return {
    use, frame, render, resize, dress, fit, zoom, pace, pick, shown,
    plays(on) { if (moving !== on) { moving = on; if (ratio < finest) resize(); } },
    show(name, on) { shown[name] = on; if (name === "trails" && on && !trailList.length) makeTrails(follow); },
    follow(body) { follow = body; if (body >= 0) { runs[0].pose(body, pose); followed.copy(pose.p); controls.target.copy(pose.p); controls.update(); } if (shown.trails) makeTrails(body); else trailList = []; },
    snapshot() { render(); return canvas.toDataURL("image/png"); },
    state: () => ({camera: camera.position.toArray(), target: controls.target.toArray(), contacts: counted, calls: renderer.info.render.calls, triangles: renderer.info.render.triangles, ratio, shadows: renderer.shadowMap.enabled}),
    broken() { const gl = renderer.getContext(); return renderer.info.programs.filter(p => !gl.getProgramParameter(p.program, gl.LINK_STATUS)).map(p => gl.getProgramInfoLog(p.program) || p.name); },   // shaders, for tests
    touched() { camera.userData.untouched = false; },
  };
}
