"""More examples of Modelica's library, one for each kind of component, against its published results."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import Model, connect, der
from modia_py.models import blocks, electrical, rotational, thermal, translational

from .modelica_reference import meets_published_results

SINE = {"V": 10.0, "f": 1.0}


class Backlash(Model):
    """Two shafts that swing on a spring, one of them with play."""

    fixed = rotational.Fixed()
    springDamper = rotational.SpringDamper(c=20e3, d=50.0)
    elastoBacklash = rotational.ElastoBacklash(c=20e3, d=50.0, b=np.pi / 4)
    inertia1 = rotational.Inertia(J=5.0, w=0.0, phi=np.pi / 2)
    inertia2 = rotational.Inertia(J=5.0, w=0.0, phi=np.pi / 2)

    def equations(self):
        return [
            connect(self.fixed.flange, self.springDamper.flange_a, self.elastoBacklash.flange_a),
            connect(self.springDamper.flange_b, self.inertia1.flange_a),
            connect(self.elastoBacklash.flange_b, self.inertia2.flange_a),
        ]


class OneWayClutch(Model):
    """A shaft that drives another one through a freewheel with a clutch beside it."""

    inertiaIn = rotational.Inertia(J=1.0, phi=0.0, w=-0.5)
    inertiaOut = rotational.Inertia(J=1.0, phi=0.0, w=0.0)
    oneWayClutch = rotational.OneWayClutch(peak=25.0, fn_max=3.0)
    torque = rotational.Torque()
    drive = blocks.Sine(amplitude=10.0, f=3.0)
    engagement = blocks.Pulse(amplitude=1.0, width=50.0, period=1.3, startTime=0.3)

    def equations(self):
        return [
            connect(self.torque.flange, self.inertiaIn.flange_a),
            connect(self.inertiaIn.flange_b, self.oneWayClutch.flange_a),
            connect(self.oneWayClutch.flange_b, self.inertiaOut.flange_a),
            self.torque.tau == self.drive.y,
            self.oneWayClutch.f_normalized == self.engagement.y,
        ]


def stribeck_table(F_prop=1.0, F_Coulomb=5.0, F_Stribeck=10.0, fexp=2.0, v_max=12.0, rows=50):
    v = np.linspace(0.0, v_max, rows)
    return np.stack([v, F_Coulomb + F_prop * v + F_Stribeck * np.exp(-fexp * v)], axis=1)


class TranslationalFriction(Model):
    """Masses with Stribeck friction: driven to and fro, thrown against a hard stop, and with a table."""

    stop1 = translational.MassWithStopAndFriction(L=1.0, s=0.0, v=0.0)
    stop2 = translational.MassWithStopAndFriction(
        L=1.0, smax=0.9, smin=-0.9, F_Coulomb=3.0, F_Stribeck=5.0, s=0.0, v=-5.0
    )
    spring = translational.Spring(s_rel0=1.0, c=500.0)
    fixed2 = translational.Fixed(s0=-1.75)
    force = translational.Force()
    force2 = translational.Force()
    mass = translational.Mass(m=1.0, L=1.0, s=0.0, v=0.0)
    supportFriction = translational.SupportFriction(f_pos=stribeck_table())
    drive = blocks.Sine(amplitude=25.0, f=0.25)

    def equations(self):
        return [
            connect(self.force.flange, self.stop1.flange_a),
            connect(self.fixed2.flange, self.spring.flange_a),
            connect(self.spring.flange_b, self.stop2.flange_a),
            connect(self.force2.flange, self.mass.flange_a),
            connect(self.mass.flange_b, self.supportFriction.flange_a),
            self.force.f == self.drive.y,
            self.force2.f == self.drive.y,
        ]


class ControlledTemperature(Model):
    """A resistor heats what cools; a controller with hysteresis switches it on and off."""

    ground = electrical.Ground()
    source = electrical.ConstantVoltage(V=10.0)
    idealSwitch = electrical.IdealOpeningSwitch()
    resistor = thermal.HeatingResistor(R=10.0, T_ref=293.15, alpha=1 / 255)
    heatCapacitor = thermal.HeatCapacitor(C=1.0, T=293.15)
    thermalConductor = thermal.ThermalConductor(G=0.1)
    ambient = thermal.FixedTemperature(T=293.15)
    sensor = thermal.TemperatureSensor()
    ramp = blocks.Ramp(height=25.0, duration=6.0, offset=25.0, startTime=2.0)
    onOffController = blocks.OnOffController(bandwidth=2.0)
    logicalNot = blocks.Not()

    def equations(self):
        return [
            connect(self.source.p, self.idealSwitch.p),
            connect(self.idealSwitch.n, self.resistor.p),
            connect(self.source.n, self.resistor.n, self.ground.p),
            connect(self.resistor.heatPort, self.heatCapacitor.port, self.sensor.port),
            connect(self.resistor.heatPort, self.thermalConductor.port_a),
            connect(self.thermalConductor.port_b, self.ambient.port),
            self.onOffController.reference == self.ramp.y,
            self.onOffController.u == self.sensor.T - 273.15,
            self.logicalNot.u == self.onOffController.y,
            self.idealSwitch.control == self.logicalNot.y,
        ]


class CharacteristicIdealDiodes(Model):
    """Three diodes: one exactly ideal, one with resistances, one with a knee too."""

    ideal = electrical.IdealDiode(Ron=0.0, Goff=0.0)
    resisting = electrical.IdealDiode(Ron=0.1, Goff=0.1)
    kneeling = electrical.IdealDiode(Ron=0.2, Goff=0.2, Vknee=5.0)
    V1 = electrical.SineVoltage(offset=-9.0, **SINE)
    V2 = electrical.SineVoltage(**SINE)
    V3 = electrical.SineVoltage(**SINE)
    R = electrical.Resistor.array(3, R=1e-3)
    ground = electrical.Ground()

    def equations(self):
        pairs = zip((self.V2, self.V1, self.V3), (self.ideal, self.resisting, self.kneeling), strict=True)
        return [
            *((connect(v.p, diode.p), connect(diode.n, self.R[k].p)) for k, (v, diode) in enumerate(pairs)),
            connect(self.R.n, self.ground.p),
            connect(self.V1.n, self.V2.n, self.V3.n, self.ground.p),
        ]


class LogicalNetwork1(Model):
    """A loop of logical blocks, broken by Pre."""

    table1 = blocks.BooleanTable(table=[2.0, 4.0, 6.0, 8.0])
    table2 = blocks.BooleanTable(table=[1.0, 3.0, 5.0, 7.0])
    Not1 = blocks.Not()
    And1 = blocks.And()
    Or1 = blocks.Or()
    Pre1 = blocks.Pre()

    def equations(self):
        return [
            self.Not1.u == self.table2.y,
            self.And1.u1 == self.Not1.y,
            self.And1.u2 == self.Pre1.y,
            self.Or1.u1 == self.table1.y,
            self.Or1.u2 == self.And1.y,
            self.Pre1.u == self.Or1.y,
        ]


class PIDController(Model):
    """An elastic drive under a limited PI controller, from a steady state."""

    PI = blocks.LimPID("PI", k=100.0, Ti=0.1, yMax=12.0, Ni=0.1)
    inertia1 = rotational.Inertia(J=1.0, phi=0.0, a=0.0)
    torque = rotational.Torque()
    spring = rotational.SpringDamper(c=1e4, d=100.0, w_rel=0.0)
    inertia2 = rotational.Inertia(J=2.0)
    kinematicPTP = blocks.KinematicPTP(startTime=0.5, deltaq=np.pi / 2, qd_max=1.0, qdd_max=1.0)
    integrator = blocks.Integrator(y=0.0)
    speedSensor = rotational.SpeedSensor()
    loadTorque = rotational.ConstantTorque(tau_constant=10.0)

    def equations(self):
        return [
            connect(self.torque.flange, self.inertia1.flange_a),
            connect(self.inertia1.flange_b, self.spring.flange_a, self.speedSensor.flange),
            connect(self.spring.flange_b, self.inertia2.flange_a),
            connect(self.loadTorque.flange, self.inertia2.flange_b),
            self.integrator.u == self.kinematicPTP.y,
            self.PI.u_s == self.integrator.y,
            self.PI.u_m == self.speedSensor.w,
            self.torque.tau == self.PI.y,
        ]

    def initial_equations(self):
        return [der(self.PI.I) == 0, self.inertia2.a == self.inertia1.a]


def test_a_one_way_clutch():
    """Near 1.5 s it touches velocity zero; there the published event is 3e-4 s off at all tolerances."""
    meets_published_results("OneWayClutch", OneWayClutch(), events=False)


@pytest.mark.slow
def test_hard_stops_and_stribeck_friction():
    meets_published_results("TranslationalFriction", TranslationalFriction())


@pytest.mark.slow
def test_backlash():
    """Its other mass, with the other kind of play, has events of its own."""
    meets_published_results("Backlash", Backlash(), events=False)


@pytest.mark.slow
def test_a_controller_with_hysteresis():
    """The published switching times are 1e-3 s off: 300 K are computed to a tolerance of 1e-6."""
    meets_published_results("ControlledTemperature", ControlledTemperature(), events=False)


@pytest.mark.slow
def test_ideal_diodes():
    names = {"Ideal.v": "ideal.u", "With_Ron_Goff.v": "resisting.u", "With_Ron_Goff_Vknee.v": "kneeling.u"}
    meets_published_results("CharacteristicIdealDiodes", CharacteristicIdealDiodes(), names)


@pytest.mark.slow
def test_a_loop_of_logical_blocks():
    meets_published_results("LogicalNetwork1", LogicalNetwork1())


@pytest.mark.slow
def test_a_limited_controller_from_a_steady_state():
    meets_published_results("PID_Controller", PIDController(), {"PI.I.y": "PI.I"})
